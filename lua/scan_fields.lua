#!lua flags=no-writes
--[[
A page of a hash, and the event that it is as of: for reconciling, so that no run is long. A field that is there all
the time comes at least once; one that comes or goes between two pages may come or not.

KEYS  1 engine  2 hash
ARGV  1 cursor ('0' for the first page)  2 about how many fields
Replies  { sequence, next cursor ('0' after the last page), { field, value, … } }
]]
--- include read_state

local page = redis.call('HSCAN', KEYS[2], ARGV[1], 'COUNT', ARGV[2])
return { text(read_state(KEYS[1]).sequence), page[1], page[2] }
