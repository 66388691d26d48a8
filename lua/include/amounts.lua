--- include exact
-- Amounts of a hash (balances of an asset, sizes of a side's levels): each field is read once, changed in memory and
-- written once, however many orders of a call change it.
-- An amount below 2^53 is a number. A larger one is wide: { billions, rest }. One that is no integer stays text, and
-- whoever needs it fails before anything is written.
local BILLION = 1000000000
local FIELDS_TOGETHER = 4000 -- unpack fails at 8,000

local function open_amounts(key)
  return { key = key, at = {}, changed = {}, asked = {}, asked_count = 0 }
end

-- Notes that a field will be needed; `read_asked` reads all of them in one call.
local function ask(amounts, field)
  if not amounts.at[field] then
    local count = amounts.asked_count + 1
    amounts.asked_count, amounts.asked[count] = count, field
  end
end

local function widened(billions, rest)
  billions, rest = billions + math.floor(rest / BILLION), rest % BILLION
  if billions < 4000000 and billions > -4000000 then return billions * BILLION + rest end -- well below 2^53
  return { billions, rest }
end

local function amount_of(found)
  if not found then return 0 end
  if not string.find(found, '^%-?%d+$') then return found end
  if #found < 16 then return tonumber(found) end
  if string.sub(found, 1, 1) == '-' then return found end
  return widened(tonumber(string.sub(found, 1, -10)), tonumber(string.sub(found, -9)))
end

local function read_asked(amounts)
  local count, at, asked = amounts.asked_count, amounts.at, amounts.asked
  if count == 0 then return end
  amounts.asked_count = 0
  for from = 1, count, FIELDS_TOGETHER do
    local to = math.min(from + FIELDS_TOGETHER - 1, count)
    local found = redis.call('HMGET', amounts.key, unpack(asked, from, to))
    for index = from, to do at[asked[index]] = amount_of(found[index - from + 1]) end
  end
end

-- Fails for a field that holds no integer. The field was asked for.
local function check_amount(amounts, field)
  if type(amounts.at[field]) == 'string' then error('not an amount in ' .. amounts.key, 0) end
end

-- Whether a field holds at least `need`, which is below 2^53.
local function holds(amounts, field, need)
  local amount = amounts.at[field]
  if type(amount) == 'number' then return amount >= need end
  check_amount(amounts, field)
  local billions = math.floor(need / BILLION)
  return amount[1] > billions or (amount[1] == billions and amount[2] >= need % BILLION)
end

-- Cannot fail for a field that check_amount passed.
local function add_to(amounts, field, change)
  if change == 0 then return end
  local amount = amounts.at[field]
  amounts.changed[field] = true
  if type(amount) == 'number' then
    local sum = amount + change
    if sum < EXACT_LIMIT and sum > -EXACT_LIMIT then
      amounts.at[field] = sum
      return
    end
    amount = { math.floor(amount / BILLION), amount % BILLION }
  end
  amounts.at[field] = widened(amount[1] + math.floor(change / BILLION), amount[2] + change % BILLION)
end

local function amount_text(amount)
  if type(amount) == 'number' then return text(amount) end
  return string.format('%d%09d', amount[1], amount[2])
end

-- `drops_zeros`: a field that came to nothing is taken out of the hash.
local function write_amounts(amounts, drops_zeros)
  local set, count, gone = {}, 0, {}
  for field in pairs(amounts.changed) do
    local amount = amounts.at[field]
    if amount == 0 and drops_zeros then
      gone[#gone + 1] = field
    else
      set[count + 1], set[count + 2] = field, amount_text(amount)
      count = count + 2
    end
  end
  for from = 1, count, FIELDS_TOGETHER do
    redis.call('HSET', amounts.key, unpack(set, from, math.min(from + FIELDS_TOGETHER - 1, count)))
  end
  for from = 1, #gone, FIELDS_TOGETHER do
    redis.call('HDEL', amounts.key, unpack(gone, from, math.min(from + FIELDS_TOGETHER - 1, #gone)))
  end
end
