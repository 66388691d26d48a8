#!lua flags=allow-oom
--[[
Extends the lease of a taken switch, or forgets the switch when its orders are cancelled. Changes nothing when another
process has forgotten the switch, or has taken it again with a later cut-off.

KEYS  engine, leases, cut_offs
ARGV  epoch
      wallet     20 bytes
      cut_off
      lease_ms   '' forgets the switch
Replies  { leased } | { ended } | { passed } when the switch is not this one any more | { stale, epoch }
]]
--- include switch_clock

local state = read_state(KEYS.engine)
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if redis.call('HGET', KEYS.cut_offs, ARGV.wallet) ~= ARGV.cut_off then return { 'passed' } end
if ARGV.lease_ms == '' then
  redis.call('ZREM', KEYS.leases, ARGV.wallet)
  redis.call('HDEL', KEYS.cut_offs, ARGV.wallet)
  return { 'ended' }
end
local time, behind = switch_time(KEYS.engine)
redis.call('ZADD', KEYS.leases, text(time + behind + tonumber(ARGV.lease_ms)), ARGV.wallet)
return { 'leased' }
