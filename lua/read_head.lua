#!lua flags=no-writes
--[[
Reads the engine's last event, by its hash and by its stream: for reconciling.

KEYS  engine, events
Replies  { sequence, time, id and time of the newest event ('' and '' in an empty stream) }
]]
--- include read_state

local state = read_state(KEYS.engine)
local entry = redis.call('XREVRANGE', KEYS.events, '+', '-', 'COUNT', 1)[1]
-- The event's second field of bytes is its time (see emit.lua).
local time = entry and text(struct.unpack('>I6', entry[2][2], 2)) or ''
return { text(state.sequence), text(state.time), entry and entry[1] or '', time }
