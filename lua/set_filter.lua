#!lua
--[[
Makes another state of the claim filters known to all placing scripts: that one is being filled beside the one in
force, that it is in force now, or that it was abandoned.

KEYS  1 engine
ARGV  1 epoch  2 present layout of the filters, as the engine hash has it  3 new layout
Replies  { set, sequence of the last event } | { stale, epoch|filter }
]]
--- include engine_state

local found = redis.call('HMGET', KEYS[1], 'state', 'filter')
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
if (found[2] or '') ~= ARGV[2] then return { 'stale', 'filter' } end
redis.call('HSET', KEYS[1], 'filter', ARGV[3])
return { 'set', text(state.sequence) }
