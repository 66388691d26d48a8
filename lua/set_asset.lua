#!lua flags=allow-oom
--[[
Sets the scale of an asset that nothing uses yet.

KEYS  1 engine  2 events  3 assets  4 unsettled 0  5 unsettled 1
ARGV  1 epoch  2 symbol  3 scale
Replies  { set, sequence } | { stale, epoch } | { refused, ASSET_IN_USE }
Events   asset_changed
]]
--- include read_state
--- include emit

local keys = { engine = KEYS[1], events = KEYS[2], assets = KEYS[3], unsettled = { KEYS[4], KEYS[5] } }
local symbol, scale = ARGV[2], ARGV[3]
local state = read_state(keys.engine)
if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
local found = redis.call('HMGET', keys.assets, symbol, symbol .. ' used')
if found[1] == scale then return { 'set', text(state.sequence) } end
if found[2] then return { 'refused', 'ASSET_IN_USE' } end

redis.call('HSET', keys.assets, symbol, scale)
emit(keys, state, event_time(state), ASSET_CHANGED, cjson.encode({ symbol = symbol, scale = tonumber(scale) }), '')
return { 'set', text(state.sequence) }
