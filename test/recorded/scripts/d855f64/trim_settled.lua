#!lua flags=allow-oom
--[[
Lets go of what Postgres has: events some seconds after they were settled, so that a read under way still
finds them, and whole generations of the unsettled index and of the claimed ids.

A generation is dropped when all that was written into it is settled, and has been for the given time: at each
turn the engine notes the sequence; the generation that ended there is ready once that sequence is settled.

KEYS  1 engine  2 events  3 unsettled 0  4 unsettled 1  5 claims 0  6 claims 1
ARGV  1 epoch and 2 sequence of Postgres' cursor  3 how long settled events stay (ms)  4 how long claims stay (ms)
Replies  the number of events taken off the stream
]]
-- Numbers here are doubles: integers are exact below 2^53, and `tostring` keeps 14 digits only.
local EXACT_LIMIT = 9007199254740992 -- 2^53

-- An integer below 2^53 as decimal text. '%d' goes through a 64-bit integer: exact, and twice as fast as '%.0f'.
local function text(integer)
  return string.format('%d', integer)
end

-- Whether decimal text `a` <= decimal text `b`, for non-negative integers of any length.
local function text_at_most(a, b)
  return #a < #b or (#a == #b and a <= b)
end
-- The engine hash holds the epoch, the event sequence and clock, the switches, and per market and wallet only what
-- differs from the default. `unsettled` and `claims` are the current generations of those keys.

-- What every command that writes must know.
local function read_clock(engine)
  local found = redis.call('HMGET', engine, 'epoch', 'sequence', 'time', 'unsettled')
  return { epoch = found[1], sequence = tonumber(found[2] or 0), time = tonumber(found[3] or 0),
    unsettled = tonumber(found[4] or 0) }
end

-- That, and all that the engine holds against one wallet's command on one market, in one call.
local function read_state(engine, market_number, wallet)
  local found = redis.call('HMGET', engine, 'epoch', 'sequence', 'time', 'unsettled', 'paused', 'terms', 'trade',
    'claims', 'version:' .. market_number, 'last:' .. market_number, 'hold:' .. wallet, 'terms:' .. wallet)
  return {
    epoch = found[1],
    sequence = tonumber(found[2] or 0),
    time = tonumber(found[3] or 0),
    unsettled = tonumber(found[4] or 0),
    paused = found[5],
    terms = found[6],
    trade = tonumber(found[7] or 0),
    claims = tonumber(found[8] or 0),
    version = found[9],
    last = found[10],
    held = found[11],
    accepted_terms = found[12],
  }
end

-- Unix milliseconds; never earlier than the last event, so that time does not run backwards.
local function event_time(state)
  local now = redis.call('TIME')
  return math.max(now[1] * 1000 + math.floor(now[2] / 1000), state.time)
end

-- epoch (2) | sequence (6): orders by age, and goes on rising after a rebuild.
local function stamp_of(epoch, sequence)
  return struct.pack('>I2I6', epoch, sequence)
end

local state = read_clock(KEYS[1])
local settled = tonumber(ARGV[2])
if settled > state.sequence then return redis.error_reply('AHEAD Postgres has events that this engine never had') end
local now = redis.call('TIME')
local time = now[1] * 1000 + math.floor(now[2] / 1000)

-- Drops the older generation of `name` when its time has come; `generations` are its two keys.
local function turn(name, generations, stay)
  local found = redis.call('HMGET', KEYS[1], name, name .. ':turned_at', name .. ':ready_at')
  local current, turned_at, ready_at = tonumber(found[1] or 0), tonumber(found[2] or 0), tonumber(found[3])
  if settled < turned_at then return end
  if not ready_at then
    redis.call('HSET', KEYS[1], name .. ':ready_at', text(time))
  elseif time - ready_at >= stay then
    redis.call('UNLINK', generations[2 - current])
    redis.call('HSET', KEYS[1], name, text(1 - current), name .. ':turned_at', text(state.sequence))
    redis.call('HDEL', KEYS[1], name .. ':ready_at')
  end
end

turn('unsettled', { KEYS[3], KEYS[4] }, tonumber(ARGV[3]))
turn('claims', { KEYS[5], KEYS[6] }, tonumber(ARGV[4]))

-- Events: what was settled at the last mark goes, once the mark is old enough.
local mark = redis.call('HMGET', KEYS[1], 'mark', 'mark:at')
local gone = 0
if not mark[1] or time - tonumber(mark[2]) >= tonumber(ARGV[3]) then
  if mark[1] then gone = redis.call('XTRIM', KEYS[2], 'MINID', '=', mark[1]) end
  redis.call('HSET', KEYS[1], 'mark', ARGV[1] .. '-' .. ARGV[2], 'mark:at', text(time))
end
redis.call('HSET', KEYS[1], 'settled', ARGV[2])
return gone
