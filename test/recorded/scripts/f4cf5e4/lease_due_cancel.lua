#!lua flags=allow-oom
--[[
Extends the lease of a taken switch, or forgets the switch when its orders are cancelled. Changes nothing when the
switch was forgotten by another process, or taken again with a later cut-off.

KEYS  1 engine  2 leases  3 cut-offs
ARGV  1 epoch  2 wallet (20 bytes)  3 cut-off  4 lease (ms; '' forgets the switch)
Replies  { leased } | { ended } | { passed } when the switch is not this one any more | { stale, epoch }
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
    'claims', 'version:' .. market_number, 'last:' .. market_number, 'hold:' .. wallet, 'terms:' .. wallet, 'filter',
    'symbol:' .. market_number)
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
    filter = found[13],
    symbol = found[14],
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
if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
if redis.call('HGET', KEYS[3], ARGV[2]) ~= ARGV[3] then return { 'passed' } end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], ARGV[2])
  redis.call('HDEL', KEYS[3], ARGV[2])
  return { 'ended' }
end
redis.call('ZADD', KEYS[2], text(event_time(state) + tonumber(ARGV[4])), ARGV[2])
return { 'leased' }
