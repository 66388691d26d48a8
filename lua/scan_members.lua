#!lua flags=no-writes
--[[
A page of a sorted set whose members sort as bytes, and the event that it is as of: for reconciling and for clearing a
market, so that no run is long.

KEYS  1 engine  2 sorted set
ARGV  1 where to begin ('-', or '(' and the last member of the page before)  2 how many
Replies  { sequence, members, a member whose score is not 0 ('' when there is none) }
]]
--- include read_state

local misplaced = redis.call('ZRANGE', KEYS[2], '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  or redis.call('ZRANGE', KEYS[2], '-inf', '(0', 'BYSCORE', 'LIMIT', 0, 1)[1]
return { text(read_state(KEYS[1]).sequence),
  redis.call('ZRANGE', KEYS[2], ARGV[1], '+', 'BYLEX', 'LIMIT', 0, ARGV[2]), misplaced or '' }
