#!lua flags=allow-oom
--[[
Extends the lease of a taken switch, or forgets the switch when its orders are cancelled. Changes nothing when the
switch was forgotten by another process, or taken again with a later cut-off.

KEYS  1 engine  2 leases  3 cut-offs
ARGV  1 epoch  2 wallet (20 bytes)  3 cut-off  4 lease (ms; '' forgets the switch)
Replies  { leased } | { ended } | { passed } when the switch is not this one any more | { stale, epoch }
]]
--- include read_state

local state = read_state(KEYS[1])
if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
if redis.call('HGET', KEYS[3], ARGV[2]) ~= ARGV[3] then return { 'passed' } end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], ARGV[2])
  redis.call('HDEL', KEYS[3], ARGV[2])
  return { 'ended' }
end
redis.call('ZADD', KEYS[2], text(event_time(state) + tonumber(ARGV[4])), ARGV[2])
return { 'leased' }
