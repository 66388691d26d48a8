#!lua flags=allow-oom
--[[
Begins a rebuild on an empty server, or in place of an engine of another format, if Postgres has all of its events. No
process of any release opens the remains before a rebuild has ended. A rebuild that broke off is begun anew.

KEYS  engine, rebuilding, events
      content...   all other keys of an engine
ARGV  format       format of this release
      token        names this rebuild
      epoch        epoch of Postgres' cursor
      sequence     sequence of Postgres' cursor
Replies  { begun, 1 when it replaces an engine of another format, else 0,
           layout of the claim filters that are left ('' for none) }
         { held } when there is an engine of this format or of none, or remains of one that nobody began to rebuild
         { unsettled, id of the last event } when an engine of another format and Postgres are not at the same event
         { nothing } when there is no engine, and no event in Postgres
]]
local engine, rebuilding, events = KEYS.engine, KEYS.rebuilding, KEYS.events

-- The stream tells the id of its last event, under the same key and in the same form in every format.
local function last_event()
  if redis.call('EXISTS', events) == 0 then return '0-0' end
  local info = redis.call('XINFO', 'STREAM', events)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return info[at + 1] end
  end
end

local found = redis.call('HMGET', rebuilding, 'replaces', 'filter')
local replaces, filter = found[1] or '0', found[2] or ''
if redis.call('EXISTS', engine) == 1 then
  local old = redis.call('HMGET', engine, 'format', 'filter')
  if not old[1] or old[1] == ARGV.format then return { 'held' } end
  local last = last_event()
  if last ~= ARGV.epoch .. '-' .. ARGV.sequence then return { 'unsettled', last } end
  replaces, filter = '1', old[2] or ''
  redis.call('UNLINK', engine)
elseif redis.call('EXISTS', rebuilding) == 0 then
  for at = POSITION(KEYS.events), #KEYS do
    if redis.call('EXISTS', KEYS[at]) == 1 then return { 'held' } end
  end
  if ARGV.sequence == '0' then return { 'nothing' } end
end
redis.call('UNLINK', rebuilding)
redis.call('HSET', rebuilding, 'format', ARGV.format, 'rebuild', ARGV.token, 'replaces', replaces, 'filter', filter)
return { 'begun', replaces, filter }
