#!lua flags=no-writes
--[[
Both sides of a market together with the sequence of the last event they include.

KEYS  1 engine  2 bids  3 asks
Replies  { sequence, members of the bids, members of the asks }
]]
return { redis.call('HGET', KEYS[1], 'sequence') or '0',
  redis.call('ZRANGE', KEYS[2], 0, -1), redis.call('ZRANGE', KEYS[3], 0, -1) }
