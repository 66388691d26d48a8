#!lua flags=no-writes
--[[
Reads a page of a hash, and the event that it is as of: for reconciling, so that no run is long. A field that exists
throughout is returned at least once. A field that is added or removed between two pages may be missed.

KEYS  engine, hash
ARGV  cursor   '0' for the first page
      count    about how many fields
Replies  { sequence, next cursor ('0' after the last page), { field, value, … } }
]]
--- include read_state

local page = redis.call('HSCAN', KEYS.hash, ARGV.cursor, 'COUNT', ARGV.count)
return { text(read_state(KEYS.engine).sequence), page[1], page[2] }
