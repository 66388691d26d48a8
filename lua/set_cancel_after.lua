#!lua flags=allow-oom
--[[
Sets, renews or switches off the dead-man switch of a wallet. When a switch is due, the live orders of its wallet are
cancelled.

KEYS  engine, switches, cut_offs
ARGV  epoch
      wallet       20 bytes
      timeout_ms   time until the switch is due; 0 switches it off
Replies  { set, time at which the switch is due ('' when it is off) } | { stale, epoch }
]]
--- include switch_clock
--- include noted_switch

local state = read_state(KEYS.engine)
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if ARGV.timeout_ms == '0' then
  redis.call('ZREM', KEYS.switches, ARGV.wallet)
  redis.call('HDEL', KEYS.cut_offs, noted_switch(ARGV.wallet))
  return { 'set', '' }
end
local time, behind = switch_time(KEYS.engine)
local due = time + tonumber(ARGV.timeout_ms)
redis.call('ZADD', KEYS.switches, text(due + behind), ARGV.wallet)
redis.call('HSET', KEYS.cut_offs, noted_switch(ARGV.wallet), text(due + behind))
return { 'set', text(due) }
