#!lua flags=no-writes
--[[
The whole engine hash at one event: the sequence, and all that is switched, with the rules of all markets. It takes as long as
wallets have accepted terms: for reconciling, not for serving.

KEYS  1 engine  2 markets
Replies  { { field, value, … }, the record of each market as JSON }
]]
return { redis.call('HGETALL', KEYS[1]), redis.call('HVALS', KEYS[2]) }
