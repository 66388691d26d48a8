#!lua flags=no-writes
--[[
Looks up what a claimed id stands for: an order by its client order id, a movement by its reference.

KEYS  engine, claims_0, claims_1, claim_filter
ARGV  claim           digest of the id
      filter_offset   offset of the block's first byte in the filter
      filter_mask     8 bytes
      filter_layout   layout of the filters
      filter_last     offset of the block's last byte in the filter
      sealed          1 when a sealed filter may have the id, otherwise 0
Replies  { claimed, value } | { unclaimed } when the id was never used | { unchecked } when only Postgres can tell
         { stale, filter }
]]
--- include exact
--- include called_claim

if redis.call('HGET', KEYS.engine, 'filter') ~= ARGV.filter_layout then return { 'stale', 'filter' } end
local ended, value = find_called_claim(tonumber(ARGV.sealed), LOOK_COUNTS_MS + tonumber(ARGV.sealed))
if ended then return { ended, value } end
return { 'unclaimed' }
