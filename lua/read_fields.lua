#!lua flags=no-writes
--[[
Some fields of a hash, and the event that they are as of: for reconciling.

KEYS  1 engine  2 hash
ARGV  fields
Replies  { sequence, { value or nil, … } }
]]
--- include read_state

return { text(read_state(KEYS[1]).sequence), redis.call('HMGET', KEYS[2], unpack(ARGV)) }
