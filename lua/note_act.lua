#!lua flags=allow-oom
--[[
Notes an act of an operator that is no other event.

KEYS  engine, events, unsettled_0, unsettled_1
ARGV  epoch
      detail   the act's command and what it was about, as JSON
      act      its author and reason as JSON
Replies  { noted } | { stale, epoch }
Events   operator_acted
]]
--- include read_state
--- include emit
--- include act

local keys = { engine = KEYS.engine, events = KEYS.events, unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 } }
local state = read_state(keys.engine)
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
emit(keys, state, event_time(state), OPERATOR_ACTED, with_act(ARGV.detail, ARGV.act), '')
return { 'noted' }
