--- include amounts
-- Sums that may pass 2^53, such as what many orders hold together: { billions, rest }.
local function add_exactly(sum, amount)
  local rest = sum[2] + amount % BILLION
  sum[1], sum[2] = sum[1] + math.floor(amount / BILLION) + math.floor(rest / BILLION), rest % BILLION
end

-- Whether a field, which was asked for, holds at least a sum.
local function holds_sum(amounts, field, sum)
  check_amount(amounts, field)
  local amount = amounts.at[field]
  if type(amount) == 'number' then amount = { math.floor(amount / BILLION), amount % BILLION } end
  return amount[1] > sum[1] or (amount[1] == sum[1] and amount[2] >= sum[2])
end
