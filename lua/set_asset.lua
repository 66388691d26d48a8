#!lua flags=allow-oom
--[[
Sets the scale of an asset that nothing uses yet.

KEYS  engine, events, assets, unsettled_0, unsettled_1
ARGV  epoch, symbol, scale
      act   act of an operator as JSON; '' for none
Replies  { set } | { stale, epoch } | { refused, ASSET_IN_USE }
Events   asset_changed
]]
--- include read_state
--- include emit
--- include act

local keys = {
  engine = KEYS.engine,
  events = KEYS.events,
  assets = KEYS.assets,
  unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 },
}
local symbol, scale = ARGV.symbol, ARGV.scale
local state = read_state(keys.engine)
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
local found = redis.call('HMGET', keys.assets, symbol, symbol .. ' used')
if found[1] == scale then return { 'set' } end
if found[2] then return { 'refused', 'ASSET_IN_USE' } end

local detail = cjson.encode({ symbol = symbol, scale = tonumber(scale) })
emit(keys, state, event_time(state), ASSET_CHANGED, with_act(detail, ARGV.act, found[1]), '')
redis.call('HSET', keys.assets, symbol, scale)
return { 'set' }
