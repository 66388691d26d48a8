#!lua flags=no-writes
--[[
Reads a wallet's balances in every asset at one moment.

KEYS  balances...   one key an asset
ARGV  wallet        20 bytes
Replies  available, reserved and owed of each asset in the order of the keys, decimal text or nil
]]
--- include balance_fields
local found = {}
for index = 1, #KEYS do
  local held = redis.call('HMGET', KEYS[index], ARGV.wallet .. AVAILABLE, ARGV.wallet .. RESERVED, ARGV.wallet .. OWED)
  found[index * 3 - 2], found[index * 3 - 1], found[index * 3] = held[1], held[2], held[3]
end
return found
