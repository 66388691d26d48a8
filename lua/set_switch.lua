#!lua flags=allow-oom
--[[
Sets or clears one switch of the engine hash: the kill switch, the required terms, a wallet's hold or the
terms it accepted. Setting what is already so changes nothing and appends no event.

KEYS  1 engine  2 events  3 unsettled 0  4 unsettled 1
ARGV  1 epoch  2 field of the engine hash  3 value ('' clears it)  4 kind of the event, as its first byte  5 event detail as JSON
      6 wallet (20 bytes; '' for none)  7 terms version that must be the required one ('' for any)
Replies  { set, sequence } | { stale, epoch } | { refused, STALE_TERMS_VERSION }
Events   the given kind
]]
--- include engine_state
--- include emit

local keys = { engine = KEYS[1], events = KEYS[2], unsettled = { KEYS[3], KEYS[4] } }
local field, value, wallet = ARGV[2], ARGV[3], ARGV[6]
local found = redis.call('HMGET', keys.engine, 'state', 'terms', field)
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
if ARGV[7] ~= '' and found[2] ~= ARGV[7] then return { 'refused', 'STALE_TERMS_VERSION' } end
if (found[3] or '') == value then return { 'set', text(state.sequence) } end

if value == '' then redis.call('HDEL', keys.engine, field) else redis.call('HSET', keys.engine, field, value) end
emit(keys, state, event_time(state), tonumber(ARGV[4]), ARGV[5], wallet)
return { 'set', text(state.sequence) }
