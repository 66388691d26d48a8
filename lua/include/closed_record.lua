-- An order that left the book, as events and replies tell of it:
--   wallet (20) | reference (17) | 1 when it had fills, else 0 (1) | client order id length (2) | client order id
-- A live order's record is the member  wallet (20) | reference (17) | client order id.
-- `prefix`: its first 37 bytes.
local function live_record(keys, prefix)
  local found = redis.call('ZRANGE', keys.live, '[' .. prefix, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  if not found or string.sub(found, 1, 37) ~= prefix then return nil end
  return found
end

local function closed_record(live, had_fills)
  local client_id = string.sub(live, 38)
  return string.sub(live, 1, 37) .. struct.pack('>I1I2', had_fills, #client_id) .. client_id
end
