#!lua flags=allow-oom
--[[
Sets or clears one switch of the engine hash: the kill switch, the required terms, a wallet's hold, or the terms that a
wallet accepted. Appends no event when the switch has that value already.

KEYS  engine, events, unsettled_0, unsettled_1
ARGV  epoch
      field            field of the engine hash
      value            '' clears it
      kind             kind of the event, as its first byte
      detail           detail of the event as JSON
      wallet           20 bytes; '' for none
      required_terms   version of the terms that must be the required one; '' for any
      act              act of an operator as JSON; '' for none
Replies  { set } | { stale, epoch } | { refused, STALE_TERMS_VERSION }
Events   the given kind
]]
--- include engine_state
--- include emit
--- include act

local keys = { engine = KEYS.engine, events = KEYS.events, unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 } }
local field, value, wallet = ARGV.field, ARGV.value, ARGV.wallet
local found = redis.call('HMGET', keys.engine, 'state', 'terms', field)
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if ARGV.required_terms ~= '' and found[2] ~= ARGV.required_terms then return { 'refused', 'STALE_TERMS_VERSION' } end
if (found[3] or '') == value then return { 'set' } end

emit(keys, state, event_time(state), tonumber(ARGV.kind), with_act(ARGV.detail, ARGV.act, found[3]), wallet)
if value == '' then
  redis.call('HDEL', keys.engine, field)
else
  redis.call('HSET', keys.engine, field, value)
end
return { 'set' }
