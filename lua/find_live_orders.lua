#!lua flags=no-writes
--[[
The live orders of a wallet as they stand now: later ones are not among them.

KEYS  1 engine  2 live orders
ARGV  1 wallet (20 bytes)
Replies  { sequence, members of the live orders:  wallet (20) | reference (17) | client order id }
]]
--- include read_state

return { text(read_state(KEYS[1]).sequence),
  redis.call('ZRANGE', KEYS[2], '[' .. ARGV[1], '(' .. ARGV[1] .. '\255', 'BYLEX') }
