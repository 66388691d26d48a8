#!lua flags=allow-oom
--[[
Gives the tick of this moment, by this server's clock, to the first who asks for it.

KEYS  1 ticks
ARGV  1 milliseconds between two ticks
Replies  { number of the tick or 0, time }

A stretch of time is a slot, and a tick bears its slot's number, or the next one where a clock that was set back would
have it bear a smaller number than the last.
]]
local now = redis.call('TIME')
local time = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
local slot = math.floor(time / tonumber(ARGV[1]))
local last = redis.call('HMGET', KEYS[1], 'slot', 'tick')
if tonumber(last[1]) == slot then return { 0, time } end
local tick = math.max(slot, (tonumber(last[2]) or 0) + 1)
redis.call('HSET', KEYS[1], 'slot', slot, 'tick', tick)
return { tick, time }
