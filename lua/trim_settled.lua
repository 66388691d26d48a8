#!lua flags=allow-oom
--[[
Drops what Postgres has: events some time after they were settled, so that a Postgres that was restored to an earlier
moment still finds them, and whole generations of the unsettled index and of the claimed ids.

A generation is dropped once everything in it has been settled for the given time. At each turn the engine notes the
sequence, and the generation that ended there is ready once that sequence is settled.

Claims stay for a time between events, which no step of the server's clock shortens: see claim.lua. Nothing depends on
how long events stay, so they stay for a time by the server's clock. A mark in the future is of a clock that has stepped
back since, and is set anew.

KEYS  engine, events, unsettled_0, unsettled_1, claims_0, claims_1
ARGV  epoch            epoch of Postgres' cursor
      sequence         sequence of Postgres' cursor
      events_stay_ms   how long settled events stay at least, and at most twice as long
      index_stay_ms    how long the index of settled events stays, so that a read under way still finds them
      claims_stay_ms   how long claims stay
Replies  the number of events taken off the stream
]]
--- include read_state

local state = read_state(KEYS.engine)
local settled = tonumber(ARGV.sequence)
if settled > state.sequence then return redis.error_reply('AHEAD Postgres has events that this engine never had') end
local now = server_time()

-- Drops the older generation of `name` once it is ready; `generations` are its two keys. The generation is ready at the
-- time `now`, and dropped once `time` is `stay` later.
local function turn(name, generations, stay, now, time)
  local found = redis.call('HMGET', KEYS.engine, name .. ':turned_at', name .. ':ready_at')
  local current, turned_at, ready_at = state[name], tonumber(found[1] or 0), tonumber(found[2])
  if settled < turned_at then
    -- Postgres was restored to an earlier moment: the time begins again when it has settled the generation again.
    if ready_at then redis.call('HDEL', KEYS.engine, name .. ':ready_at') end
    return
  end
  if not ready_at or ready_at > now then
    redis.call('HSET', KEYS.engine, name .. ':ready_at', text(now))
  elseif time - ready_at >= stay then
    redis.call('UNLINK', generations[2 - current])
    state[name] = 1 - current
    redis.call('HSET', KEYS.engine, 'state', encode_state(state), name .. ':turned_at', text(state.sequence))
    redis.call('HDEL', KEYS.engine, name .. ':ready_at')
  end
end

turn('unsettled', { KEYS.unsettled_0, KEYS.unsettled_1 }, tonumber(ARGV.index_stay_ms), now, now)
turn('claims', { KEYS.claims_0, KEYS.claims_1 }, tonumber(ARGV.claims_stay_ms), event_time(state), state.time)

-- Events: removes those that were settled at the last mark, once the mark is old enough. A mark ahead of the cursor was
-- set before Postgres was restored to an earlier moment: the events up to the mark are not all settled any more.
local mark = redis.call('HMGET', KEYS.engine, 'mark', 'mark:at')
if mark[1] and tonumber(string.match(mark[1], '%d+$')) > settled then mark = {} end
local gone, age = 0, mark[1] and now - tonumber(mark[2])
if not mark[1] or age >= tonumber(ARGV.events_stay_ms) then
  if mark[1] then gone = redis.call('XTRIM', KEYS.events, 'MINID', '=', mark[1]) end
  redis.call('HSET', KEYS.engine, 'mark', ARGV.epoch .. '-' .. ARGV.sequence, 'mark:at', text(now))
elseif age < 0 then
  redis.call('HSET', KEYS.engine, 'mark:at', text(now))
end
redis.call('HSET', KEYS.engine, 'settled', ARGV.sequence)
return gone
