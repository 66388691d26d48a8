#!lua
--[[
Puts a rebuilt engine in force: from here on processes open it.

KEYS  1 engine  2 rebuilding  3 events
ARGV  1 token of the rebuild  2 id of the event that the engine goes on after
Replies  { ended } | { replaced } by another rebuild | { held } when there is an engine by now
]]
if redis.call('HGET', KEYS[2], 'rebuild') ~= ARGV[1] then return { 'replaced' } end
if redis.call('EXISTS', KEYS[1]) == 1 then return { 'held' } end
redis.call('HDEL', KEYS[2], 'rebuild', 'replaces')
-- An empty stream that knows the id of the last event.
redis.call('XADD', KEYS[3], 'MAXLEN', '0', ARGV[2], 'e', '')
redis.call('RENAMENX', KEYS[2], KEYS[1])
return { 'ended' }
