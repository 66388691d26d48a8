#!lua
--[[
Puts a rebuilt engine in force. Processes open it from here on.

KEYS  engine, rebuilding, events
ARGV  token        names the rebuild
      last_event   id of the event that the engine goes on after
Replies  { ended } | { replaced } by another rebuild | { held } when there is an engine by now
]]
if redis.call('HGET', KEYS.rebuilding, 'rebuild') ~= ARGV.token then return { 'replaced' } end
if redis.call('EXISTS', KEYS.engine) == 1 then return { 'held' } end
-- An empty stream that knows the id of the last event. Redis refuses it when the stream has a higher id, so it is the
-- first write.
redis.call('XADD', KEYS.events, 'MAXLEN', '0', ARGV.last_event, 'e', '')
redis.call('HDEL', KEYS.rebuilding, 'rebuild', 'replaces')
redis.call('RENAMENX', KEYS.rebuilding, KEYS.engine)
return { 'ended' }
