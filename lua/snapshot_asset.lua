#!lua flags=no-writes
--[[
All balances of an asset together with the sequence of the last event they include.

KEYS  1 engine  2 balances of the asset
Replies  { sequence, field, value, … }
]]
local all = redis.call('HGETALL', KEYS[2])
table.insert(all, 1, redis.call('HGET', KEYS[1], 'sequence') or '0')
return all
