--- include exact
--- include balance_fields
-- Amounts of a hash (balances of an asset, sizes of a side's levels). Each field is read once, changed in memory and
-- written once, however many orders of a call change it.
-- An amount is a number, or wide: { billions, rest }. A number becomes wide at 2^53, and a wide amount becomes a number
-- below 4 * 10^15. A field that holds no integer stays text; a command that needs it fails before it writes.
--- define BILLION 1000000000
--- define FIELDS_TOGETHER 4000 (unpack fails at 8,000)
-- False once any amount is wide or text.
local all_are_numbers = true

-- Amounts of this call by key, opened when they are first needed. The items of such a table are the fields that are
-- asked for and not read yet.
local opened = {}
local function amounts_of(key)
  local amounts = opened[key]
  if not amounts then
    amounts = { key = key, at = {}, changed = {}, asked_count = 0 }
    opened[key] = amounts
  end
  return amounts
end

-- Notes that a field will be needed; `read_asked` reads all of them in one call.
local function ask(amounts, field)
  if not amounts.at[field] then
    local count = amounts.asked_count + 1
    amounts.asked_count, amounts[count] = count, field
  end
end

local function widened(billions, rest)
  billions, rest = billions + math.floor(rest / BILLION), rest % BILLION
  if billions < 4000000 and billions > -4000000 then return billions * BILLION + rest end -- well below 2^53
  all_are_numbers = false
  return { billions, rest }
end

local function odd_amount_of(found)
  if not string.find(found, '^%-?%d+$') or #found > 19 or (#found > 15 and string.sub(found, 1, 1) == '-') then
    all_are_numbers = false
    return found
  end
  if #found < 16 then return tonumber(found) end
  return widened(tonumber(string.sub(found, 1, -10)), tonumber(string.sub(found, -9)))
end

local function read_asked(amounts)
  local count, at = amounts.asked_count, amounts.at
  if count == 0 then return end
  amounts.asked_count = 0
  for from = 1, count, FIELDS_TOGETHER do
    local to = from + FIELDS_TOGETHER - 1
    if to > count then to = count end
    local values = redis.call('HMGET', amounts.key, unpack(amounts, from, to))
    for index = from, to do
      local found = values[index - from + 1]
      if not found then
        at[amounts[index]] = 0
      elseif #found < 16 and found ~= '' and not string.find(found, '%D') then
        at[amounts[index]] = tonumber(found)
      else
        at[amounts[index]] = odd_amount_of(found)
      end
    end
  end
end

-- Adds `change` to a field that was read. Cannot fail for a field that check_amount passed.
local function add_to(amounts, field, change)
  if change == 0 then return end
  local amount = amounts.at[field]
  amounts.changed[field] = true
  if all_are_numbers or type(amount) == 'number' then
    local sum = amount + change
    if sum < EXACT_LIMIT and sum > -EXACT_LIMIT then
      amounts.at[field] = sum
      return
    end
    amount = { math.floor(amount / BILLION), amount % BILLION }
  end
  amounts.at[field] = widened(amount[1] + math.floor(change / BILLION), amount[2] + change % BILLION)
end

-- Writes the changed fields. `drops_zeros`: true to delete fields that came to zero.
local function write_amounts(amounts, drops_zeros)
  local field = next(amounts.changed)
  if not field then return end
  local set, count, gone = {}, 0, nil
  while field do
    local amount = amounts.at[field]
    if amount == 0 and drops_zeros then
      gone = gone or {}
      gone[#gone + 1] = field
    else
      set[count + 1] = field
      set[count + 2] = type(amount) == 'number' and string.format('%d', amount)
        or string.format('%d%09d', amount[1], amount[2])
      count = count + 2
    end
    field = next(amounts.changed, field)
  end
  for from = 1, count, FIELDS_TOGETHER do
    redis.call('HSET', amounts.key, unpack(set, from, math.min(from + FIELDS_TOGETHER - 1, count)))
  end
  for from = 1, gone and #gone or 0, FIELDS_TOGETHER do
    redis.call('HDEL', amounts.key, unpack(gone, from, math.min(from + FIELDS_TOGETHER - 1, #gone)))
  end
end
