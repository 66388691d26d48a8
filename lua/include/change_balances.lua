-- Balances of an asset: one hash, fields `wallet (20) a` (available) and `wallet (20) r` (reserved).
-- They are collected first and written as one HINCRBY a field, so that a field met often costs one call.
-- Each sum belongs to one order's fills and stays below 2^53; the balances themselves may be larger.
local function add(changes, field, amount)
  changes[field] = (changes[field] or 0) + amount
end

local function write_changes(key, changes)
  for field, amount in pairs(changes) do
    if amount ~= 0 then redis.call('HINCRBY', key, field, text(amount)) end
  end
end

-- Whether each field of `needs` holds at least its amount.
local function covers(key, needs)
  local fields = {}
  for field in pairs(needs) do fields[#fields + 1] = field end
  if #fields == 0 then return true end
  local held = redis.call('HMGET', key, unpack(fields))
  for index, field in ipairs(fields) do
    if tonumber(held[index] or 0) < needs[field] then return false end
  end
  return true
end
