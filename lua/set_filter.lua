#!lua
--[[
Seals the claim filter in force and puts a new one in force, for all scripts at once.

KEYS  engine
ARGV  epoch
      present_layout   layout of the filters, as the engine hash has it
      new_layout
Replies  { set } | { stale, epoch|filter }
]]
--- include read_state

if read_state(KEYS.engine).epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if (redis.call('HGET', KEYS.engine, 'filter') or '') ~= ARGV.present_layout then return { 'stale', 'filter' } end
redis.call('HSET', KEYS.engine, 'filter', ARGV.new_layout)
return { 'set' }
