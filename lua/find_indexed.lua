#!lua flags=no-writes
--[[
Tells which members the unsettled index has: for reconciling, so that no run is long.

KEYS  engine, unsettled_0, unsettled_1
ARGV  members...   wallet (20) | epoch (2) | sequence (6)
Replies  { event up to which the older generation may be gone, '1' or '0' for each member, … }
]]
local reply = { redis.call('HGET', KEYS.engine, 'unsettled:turned_at') or '0' }
for at, member in ipairs(ARGV) do
  local is_there = redis.call('ZSCORE', KEYS.unsettled_0, member) or redis.call('ZSCORE', KEYS.unsettled_1, member)
  reply[at + 1] = is_there and '1' or '0'
end
return reply
