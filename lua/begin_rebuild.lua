#!lua
--[[
Begins a rebuild on an empty server, or where an engine of another format has been retired, or begins one anew that broke
off.

KEYS  1 engine  2 rebuilding  3.. all other keys of an engine
ARGV  1 format of this release  2 token of this rebuild  3 sequence of Postgres' cursor
Replies  { begun, whether it replaces an engine of another format (0|1),
           layout of the claim filters that are left ('' for none) }
         { held } when there is an engine, or what is left of one that nobody retired or began to rebuild
         { nothing } when there is no engine, and no event in Postgres
]]
local engine, rebuilding = KEYS[1], KEYS[2]
if redis.call('EXISTS', engine) == 1 then return { 'held' } end
if redis.call('EXISTS', rebuilding) == 0 then
  for index = 3, #KEYS do
    if redis.call('EXISTS', KEYS[index]) == 1 then return { 'held' } end
  end
  if ARGV[3] == '0' then return { 'nothing' } end
end

local found = redis.call('HMGET', rebuilding, 'replaces', 'filter')
local replaces, filter = found[1] or '0', found[2] or ''
redis.call('UNLINK', rebuilding)
redis.call('HSET', rebuilding, 'format', ARGV[1], 'rebuild', ARGV[2], 'replaces', replaces, 'filter', filter)
return { 'begun', replaces, filter }
