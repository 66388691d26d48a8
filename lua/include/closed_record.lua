--- include order_formats
-- Records of live and of closed orders.

-- Returns the record of a live order, a member of the set of live orders, or nil:
--   wallet (20) | reference (17) | size in steps (7) | client order id
-- `prefix`: its first 37 bytes.
local function live_record(live, prefix)
  local found = redis.call('ZRANGE', live, '[' .. prefix, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
  if not found or string.sub(found, 1, 37) ~= prefix then return nil end
  return found
end

-- Returns the steps that a live order has filled. `left`: its remaining steps. Fails for a record without a size.
local function filled_of(live, left)
  local size = struct.unpack(STEPS_FORMAT, live, 38)
  return size - left
end

-- Returns the record of an order that left the book, as events and replies carry it:
--   wallet (20) | reference (17) | 1 when it had fills, else 0 (1) | client order id length (2) | client order id
local function closed_record(live, filled)
  local client_id, had_fills = string.sub(live, 45), filled > 0 and 1 or 0
  return string.sub(live, 1, 37) .. struct.pack(CLOSED_END_FORMAT, had_fills, #client_id) .. client_id
end
