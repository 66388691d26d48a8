#!lua flags=no-writes
--[[
Reads a page of a sorted set whose members sort as bytes, and the event that it is as of: for reconciling and for
clearing a market, so that no run is long.

KEYS  engine, set
ARGV  from    '-', or '(' and the last member of the page before
      count   how many members
Replies  { sequence, members, a member whose score is not 0 ('' when there is none) }
]]
--- include read_state

local misplaced = redis.call('ZRANGE', KEYS.set, '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  or redis.call('ZRANGE', KEYS.set, '-inf', '(0', 'BYSCORE', 'LIMIT', 0, 1)[1]
return {
  text(read_state(KEYS.engine).sequence),
  redis.call('ZRANGE', KEYS.set, ARGV.from, '+', 'BYLEX', 'LIMIT', 0, ARGV.count),
  misplaced or '',
}
