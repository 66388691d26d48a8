#!lua flags=no-writes
--[[
Reads fields of a hash, and the event that they are as of: for reconciling.

KEYS  engine, hash
ARGV  fields...
Replies  { sequence, { value or nil, … } }
]]
--- include read_state

return { text(read_state(KEYS.engine).sequence), redis.call('HMGET', KEYS.hash, unpack(ARGV)) }
