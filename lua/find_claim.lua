#!lua flags=no-writes
--[[
Looks up what a claimed id stands for: an order by its client order id, a movement by its reference.

KEYS  1 engine  2 claims 0  3 claims 1  4 claim filter
ARGV  1 claim (its digest)  2 filter offset  3 filter mask (8 bytes)  4 layout of the filters
Replies  { claimed, value } | { unclaimed } when it never existed | { unchecked } when only Postgres can tell
         { stale, filter }
]]
--- include exact
--- include claim

local keys = { claims = { KEYS[2], KEYS[3] } }
local claim = { field = ARGV[1], offset = tonumber(ARGV[2]), mask = ARGV[3], checked_at = 0, filter = KEYS[4] }
if redis.call('HGET', KEYS[1], 'filter') ~= ARGV[4] then return { 'stale', 'filter' } end
local ended, value = find_claim(keys, claim, 300000)
return { ended or 'unclaimed', value }
