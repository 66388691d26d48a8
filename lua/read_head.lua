#!lua flags=no-writes
--[[
Where the engine stands by its hash, and by its stream: for reconciling.

KEYS  1 engine  2 events
Replies  { sequence, time, id and time of the newest event ('' and '' in an empty stream) }
]]
local own = redis.call('HMGET', KEYS[1], 'sequence', 'time')
local entry = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local time = ''
for at = 1, entry and #entry[2] or 0, 2 do
  if entry[2][at] == 'time' then time = entry[2][at + 1] end
end
return { own[1] or '0', own[2] or '0', entry and entry[1] or '', time }
