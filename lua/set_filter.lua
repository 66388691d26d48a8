#!lua
--[[
Changes the state of the claim filters for all scripts: one is filled beside the one in force, the filled one comes into
force, or it is abandoned.

KEYS  engine
ARGV  epoch
      present_layout   layout of the filters, as the engine hash has it
      new_layout
Replies  { set, sequence of the last event } | { stale, epoch|filter }
]]
--- include engine_state

local found = redis.call('HMGET', KEYS.engine, 'state', 'filter')
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if (found[2] or '') ~= ARGV.present_layout then return { 'stale', 'filter' } end
redis.call('HSET', KEYS.engine, 'filter', ARGV.new_layout)
return { 'set', text(state.sequence) }
