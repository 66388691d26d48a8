#!lua flags=allow-oom
--[[
Gives the current tick, by this server's clock, to the first process that asks for it.

KEYS  ticks
ARGV  tick_ms   milliseconds between two ticks
Replies  { number of the tick or 0, time }

Time is divided into slots of `tick_ms`. A tick has the number of its slot. Where a clock that was set back would repeat
a number, the tick has the next number after the last.
]]
local now = redis.call('TIME')
local time = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
local slot = math.floor(time / tonumber(ARGV.tick_ms))
local last = redis.call('HMGET', KEYS.ticks, 'slot', 'tick')
if tonumber(last[1]) == slot then return { 0, time } end
local tick = math.max(slot, (tonumber(last[2]) or 0) + 1)
redis.call('HSET', KEYS.ticks, 'slot', slot, 'tick', tick)
return { tick, time }
