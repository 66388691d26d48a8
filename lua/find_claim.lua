#!lua flags=no-writes
--[[
Looks up what a claimed id stands for: an order by its client order id, a movement by its reference.

KEYS  1 engine  2 claims 0  3 claims 1  4 claim filter
ARGV  1 claim (its digest)  2 filter offset  3 filter mask (8 bytes)  4 layout of the filters
      5 offset of the last byte of the block
Replies  { claimed, value } | { unclaimed } when it never existed | { unchecked } when only Postgres can tell
         { stale, filter }
]]
--- include exact
--- include claim

if redis.call('HGET', KEYS[1], 'filter') ~= ARGV[4] then return { 'stale', 'filter' } end
local ended, value = find_claim(KEYS[2], KEYS[3], KEYS[4], ARGV[2], ARGV[5], ARGV[3], ARGV[1], 0, 300000)
if ended then return { ended, value } end
return { 'unclaimed' }
