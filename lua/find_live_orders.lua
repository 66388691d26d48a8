#!lua flags=no-writes
--[[
Finds the live orders of a wallet at one moment.

KEYS  engine, live
ARGV  wallet   20 bytes
Replies  { sequence, members of the live orders:  wallet (20) | reference (17) | client order id }
]]
--- include read_state
--- include prefix_range

return { text(read_state(KEYS.engine).sequence),
  redis.call('ZRANGE', KEYS.live, '[' .. ARGV.wallet, '(' .. ARGV.wallet .. PREFIX_END, 'BYLEX') }
