#!lua flags=no-writes
--[[
Looks up what a claimed id stands for: an order by its client order id, a movement by its reference.

KEYS  1 claims 0  2 claims 1  3 claim filter
ARGV  1 claim (its digest)  2 filter offset  3 filter mask (8 bytes)
Replies  { claimed, value } | { unclaimed } when it never existed | { unchecked } when only Postgres can tell
]]
--- include exact
--- include claim

local keys = { claims = { KEYS[1], KEYS[2] }, filter = KEYS[3] }
local claim = { field = ARGV[1], offset = tonumber(ARGV[2]), mask = ARGV[3], checked_at = 0 }
return find_claim(keys, claim, 300000) or { 'unclaimed' }
