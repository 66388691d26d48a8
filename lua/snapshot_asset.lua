#!lua flags=no-writes
--[[
All balances of an asset and the books that reserve it, together with the sequence of the last event they
include. It takes as long as they are large: for reconciling, not for serving.

KEYS  1 engine  2 balances of the asset  3… sides of books
Replies  { sequence, { field, value, … }, members of each side… }
]]
local found = { redis.call('HGET', KEYS[1], 'sequence') or '0', redis.call('HGETALL', KEYS[2]) }
for index = 3, #KEYS do found[index] = redis.call('ZRANGE', KEYS[index], 0, -1) end
return found
