#!lua flags=no-writes
--[[
The whole engine hash at one event: the sequence, and all that is switched. It takes as long as wallets have accepted
terms: for reconciling, not for serving.

KEYS  1 engine
Replies  { field, value, … }
]]
return redis.call('HGETALL', KEYS[1])
