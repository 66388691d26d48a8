#!lua
--[[
Begins a rebuild on an empty server, or where an engine of another format was retired. A rebuild that broke off is begun
anew.

KEYS  engine, rebuilding
      content...   all other keys of an engine
ARGV  format       format of this release
      token        names this rebuild
      sequence     sequence of Postgres' cursor
Replies  { begun, 1 when it replaces an engine of another format, else 0,
           layout of the claim filters that are left ('' for none) }
         { held } when there is an engine, or remains of one that nobody retired or began to rebuild
         { nothing } when there is no engine, and no event in Postgres
]]
local engine, rebuilding = KEYS.engine, KEYS.rebuilding
if redis.call('EXISTS', engine) == 1 then return { 'held' } end
if redis.call('EXISTS', rebuilding) == 0 then
  for at = PLACE(KEYS.content), #KEYS do
    if redis.call('EXISTS', KEYS[at]) == 1 then return { 'held' } end
  end
  if ARGV.sequence == '0' then return { 'nothing' } end
end

local found = redis.call('HMGET', rebuilding, 'replaces', 'filter')
local replaces, filter = found[1] or '0', found[2] or ''
redis.call('UNLINK', rebuilding)
redis.call('HSET', rebuilding, 'format', ARGV.format, 'rebuild', ARGV.token, 'replaces', replaces, 'filter', filter)
return { 'begun', replaces, filter }
