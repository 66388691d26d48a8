#!lua flags=no-writes
--[[
The live orders of a wallet as they stand now: later ones are not among them.

KEYS  1 engine  2 live orders
ARGV  1 wallet (20 bytes)
Replies  { sequence, members of the live orders:  wallet (20) | reference (17) | client order id }
]]
return { redis.call('HGET', KEYS[1], 'sequence') or '0',
  redis.call('ZRANGE', KEYS[2], '[' .. ARGV[1], '(' .. ARGV[1] .. '\255', 'BYLEX') }
