#!lua flags=allow-oom
--[[
Sets, renews or switches off the dead-man switch of a wallet. When a switch is due, the live orders of its wallet are
cancelled.

KEYS  1 engine  2 switches
ARGV  1 epoch  2 wallet (20 bytes)  3 milliseconds until the switch is due (0 switches it off)
Replies  { set, time at which the switch is due ('' when it is off) } | { stale, epoch }
]]
--- include read_state

local state = read_state(KEYS[1])
if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
if ARGV[3] == '0' then
  redis.call('ZREM', KEYS[2], ARGV[2])
  return { 'set', '' }
end
local due = text(event_time(state) + tonumber(ARGV[3]))
redis.call('ZADD', KEYS[2], due, ARGV[2])
return { 'set', due }
