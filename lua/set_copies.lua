#!lua
--[[
Gives the primary the list of its copies, in rising versions: a list that comes late changes nothing. Only this script
and the opening of an epoch write the key, so orders of keepers may watch it.

KEYS  copies
ARGV  version   version of the row in Postgres
      mark      mark of that version
      names     names of the servers that must have an order before it is answered, blanks between
Replies  { set } | { later } when the server has this version or a later one
]]

local version = tonumber(redis.call('HGET', KEYS.copies, 'version') or '0')
if version >= tonumber(ARGV.version) then return { 'later' } end
redis.call('HSET', KEYS.copies, 'version', ARGV.version, 'mark', ARGV.mark, 'names', ARGV.names)
return { 'set' }
