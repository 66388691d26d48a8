#!lua
--[[
Numbers a claim filter that is about to be made. A number is given once. A server that was emptied gets no field from it,
because a lone field would look like an engine of another format.

KEYS  engine
ARGV  epoch
Replies  { numbered, number } | { stale, epoch }
]]
--- include read_state

if read_state(KEYS.engine).epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
return { 'numbered', text(redis.call('HINCRBY', KEYS.engine, 'filter:generations', 1)) }
