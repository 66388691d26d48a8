#!lua flags=allow-oom
--[[
Retires an engine of another format, if Postgres has all of its events. No process of any release opens the remains
before a rebuild has ended.

KEYS  engine, rebuilding, events, unsettled_0, unsettled_1, claims_0, claims_1
ARGV  format     format of this release
      epoch      epoch of Postgres' cursor
      sequence   sequence of Postgres' cursor
Replies  { retired } | { none } when there is no engine of another format
         { unsettled, id of the last event } when the engine and Postgres are not at the same event
]]
local engine, rebuilding, events = KEYS.engine, KEYS.rebuilding, KEYS.events
local cursor = ARGV.epoch .. '-' .. ARGV.sequence

-- The stream tells the id of its last event, under the same key and in the same form in every format.
local function last_event()
  if redis.call('EXISTS', events) == 0 then
    -- A rebuild of format 1 leaves no stream: an engine that has had no event since is at the cursor.
    return redis.call('EXISTS', KEYS.unsettled_0, KEYS.unsettled_1, KEYS.claims_0, KEYS.claims_1) == 0 and cursor or '0-0'
  end
  local info = redis.call('XINFO', 'STREAM', events)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return info[at + 1] end
  end
end

local found = redis.call('HMGET', engine, 'format', 'filter')
if found[1] == ARGV.format or redis.call('EXISTS', engine) == 0 then return { 'none' } end
local last = last_event()
if last ~= cursor then return { 'unsettled', last } end
redis.call('UNLINK', engine, rebuilding)
redis.call('HSET', rebuilding, 'format', ARGV.format, 'replaces', '1', 'filter', found[2] or '')
return { 'retired' }
