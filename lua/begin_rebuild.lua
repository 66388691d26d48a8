#!lua flags=allow-oom
--[[
Begins a rebuild, or begins one anew that broke off. An engine of another format goes out of force here, if Postgres has
all of its events: no process of any release opens what is left until the rebuild has ended.

KEYS  1 engine  2 rebuilding  3 events  4 unsettled 0  5 unsettled 1  6 claims 0  7 claims 1
      8.. all other keys of an engine
ARGV  1 format of this release  2 token of this rebuild  3 epoch and 4 sequence of Postgres' cursor
Replies  { begun, replaced (0|1), layout of the claim filters that are left ('' for none) }
         { held } when there is an engine of this format, or what is left of one that nobody began to rebuild
         { nothing } when there is no engine, and no event in Postgres
         { unsettled, id of the last event } when the engine and Postgres are not at the same event
]]
local engine, rebuilding, events = KEYS[1], KEYS[2], KEYS[3]
local cursor = ARGV[3] .. '-' .. ARGV[4]

-- The id of the last event is kept by the stream, which is under the same key in every format, and by its ids alone.
local function last_event()
  if redis.call('EXISTS', events) == 0 then
    -- A rebuild of format 1 leaves no stream: an engine that has had no event since is at the cursor.
    return redis.call('EXISTS', unpack(KEYS, 4, 7)) == 0 and cursor or '0-0'
  end
  local info = redis.call('XINFO', 'STREAM', events)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return info[at + 1] end
  end
end

local found = redis.call('HMGET', engine, 'format', 'filter')
local is_engine = redis.call('EXISTS', engine) == 1
local is_begun = redis.call('EXISTS', rebuilding) == 1
if is_engine then
  if found[1] == ARGV[1] then return { 'held' } end
  local last = last_event()
  if last ~= cursor then return { 'unsettled', last } end
elseif not is_begun then
  for index = 3, #KEYS do
    if redis.call('EXISTS', KEYS[index]) == 1 then return { 'held' } end
  end
  if ARGV[4] == '0' then return { 'nothing' } end
end

local filter = found[2] or redis.call('HGET', rebuilding, 'filter') or ''
redis.call('UNLINK', engine, rebuilding)
redis.call('HSET', rebuilding, 'format', ARGV[1], 'rebuild', ARGV[2], 'filter', filter)
return { 'begun', is_engine and 1 or 0, filter }
