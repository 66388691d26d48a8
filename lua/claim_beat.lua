#!lua flags=allow-oom
--[[
Gives the current beat, by this server's clock, to the first process that asks for it.

KEYS  beats
ARGV  beat_ms   milliseconds between two beats
Replies  { number of the beat or 0, time }

Time is divided into slots of `beat_ms`. A beat has the number of its slot. Where a clock that was set back would repeat
a number, the beat has the next number after the last.
]]
local now = redis.call('TIME')
local time = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
local slot = math.floor(time / tonumber(ARGV.beat_ms))
local last = redis.call('HMGET', KEYS.beats, 'slot', 'beat')
if tonumber(last[1]) == slot then return { 0, time } end
local beat = math.max(slot, (tonumber(last[2]) or 0) + 1)
redis.call('HSET', KEYS.beats, 'slot', slot, 'beat', beat)
return { beat, time }
