#!lua flags=no-writes
--[[
A wallet's balances in every asset at one moment.

KEYS  balances, one key an asset
ARGV  1 wallet (20 bytes)
Replies  available and reserved of each asset in the order of KEYS, decimal text or nil
]]
local found = {}
for index = 1, #KEYS do
  local held = redis.call('HMGET', KEYS[index], ARGV[1] .. 'a', ARGV[1] .. 'r')
  found[index * 2 - 1], found[index * 2] = held[1], held[2]
end
return found
