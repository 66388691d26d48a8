#!lua flags=no-writes
--[[
Finds the live orders of a wallet at one moment.

KEYS  live
ARGV  wallet   20 bytes
Replies  members of the live orders:  wallet (20) | reference (17) | client order id
]]
--- include prefix_range

return redis.call('ZRANGE', KEYS.live, '[' .. ARGV.wallet, '(' .. ARGV.wallet .. PREFIX_END, 'BYLEX')
