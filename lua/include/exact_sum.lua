--- include amounts
-- Fails for a field that holds no integer. The field was asked for.
local function check_amount(amounts, field)
  if type(amounts.at[field]) == 'string' then error('not an amount in ' .. amounts.key, 0) end
end

-- Returns true when a field, which was asked for, holds at least `need`, which is below 2^53.
local function holds(amounts, field, need)
  local amount = amounts.at[field]
  if type(amount) == 'number' then return amount >= need end
  check_amount(amounts, field)
  local billions = math.floor(need / BILLION)
  return amount[1] > billions or (amount[1] == billions and amount[2] >= need % BILLION)
end

-- Returns a field, which was asked for, as a number: infinite from 2^53 on.
local function exact_or_huge(amounts, field)
  local amount = amounts.at[field]
  if type(amount) == 'number' then return amount end
  check_amount(amounts, field)
  local whole = amount[1] * BILLION + amount[2]
  return whole < EXACT_LIMIT and whole or math.huge
end

-- Adds an amount to a sum { billions, rest }, which may pass 2^53, such as the funds that many orders hold together.
local function add_exactly(sum, amount)
  local rest = sum[2] + amount % BILLION
  sum[1], sum[2] = sum[1] + math.floor(amount / BILLION) + math.floor(rest / BILLION), rest % BILLION
end

-- Returns true when a field, which was asked for, holds at least a sum.
local function holds_sum(amounts, field, sum)
  check_amount(amounts, field)
  local amount = amounts.at[field]
  if type(amount) == 'number' then amount = { math.floor(amount / BILLION), amount % BILLION } end
  return amount[1] > sum[1] or (amount[1] == sum[1] and amount[2] >= sum[2])
end
