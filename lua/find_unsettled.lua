#!lua flags=no-writes
--[[
Which events touch a wallet and may not be in Postgres yet.

KEYS  1 engine  2 unsettled 0  3 unsettled 1
ARGV  1 wallet (20 bytes)
Replies  stamps,  epoch (2) | sequence (6)  each, in no order; a stamp may come twice
]]
local settled = tonumber(redis.call('HGET', KEYS[1], 'settled') or 0)
local stamps = {}
for index = 2, 3 do
  for _, member in ipairs(redis.call('ZRANGE', KEYS[index], '[' .. ARGV[1], '(' .. ARGV[1] .. '\255', 'BYLEX')) do
    local sequence = struct.unpack('>I6', string.sub(member, 23))
    if sequence > settled then stamps[#stamps + 1] = string.sub(member, 21) end
  end
end
return stamps
