#!lua flags=allow-oom
--[[
Publishes a market or replaces its record, if it still is the version that was read.

KEYS  1 engine  2 events  3 markets  4 assets  5 bids  6 asks  7 unsettled 0  8 unsettled 1
ARGV  1 epoch  2 symbol  3 number  4 version replaced (0 for a new market)  5 new version
      6 new record as JSON  7 base  8 base scale  9 quote  10 quote scale  11 must the book be empty (0|1)
Replies  { set, sequence } | { stale, epoch|market } | { stale, scale } when an asset's scale is another one
         { refused, BOOK_NOT_EMPTY }
Events   market_changed; a new market's assets are written with their scales
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
local MOST_UNPACKED = 4000 -- unpack fails at 8,000

-- Appends one event and moves the engine's sequence and clock on; the entry is the outbox that
-- settlement reads, so it must hold all that Postgres needs.
-- `wallets`: set of wallets whose lists the event changes; they are indexed until the event is settled.
-- `also`: further fields of the engine hash, written in the same call.
local function emit(keys, state, time, fields, wallets, also)
  state.sequence = state.sequence + 1
  state.time = time
  redis.call('XADD', keys.events, state.epoch .. '-' .. text(state.sequence), 'time', text(time), unpack(fields))
  local stamp = stamp_of(state.epoch, state.sequence)
  local unsettled, index = keys.unsettled[state.unsettled + 1], {}
  for wallet in pairs(wallets) do
    index[#index + 1] = '0'
    index[#index + 1] = wallet .. stamp
    if #index == MOST_UNPACKED then
      redis.call('ZADD', unsettled, unpack(index))
      index = {}
    end
  end
  if #index > 0 then redis.call('ZADD', unsettled, unpack(index)) end
  redis.call('HSET', keys.engine, 'sequence', text(state.sequence), 'time', text(time), unpack(also or {}))
end

local keys = {
  engine = KEYS[1], events = KEYS[2], markets = KEYS[3], assets = KEYS[4], bids = KEYS[5], asks = KEYS[6],
  unsettled = { KEYS[7], KEYS[8] },
}
local symbol, number, version = ARGV[2], ARGV[3], ARGV[4]
local state = read_state(keys.engine, number, '')
if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
if (state.version or '0') ~= version then return { 'stale', 'market' } end
if version == '0' and (redis.call('HEXISTS', keys.markets, symbol) == 1
    or text(redis.call('HLEN', keys.markets)) ~= number) then
  return { 'stale', 'market' }
end
for at = 7, 9, 2 do
  local scale = redis.call('HGET', keys.assets, ARGV[at])
  if scale and scale ~= ARGV[at + 1] then return { 'stale', 'scale' } end
end
if ARGV[11] == '1' and redis.call('EXISTS', keys.bids, keys.asks) > 0 then
  return { 'refused', 'BOOK_NOT_EMPTY' }
end

redis.call('HSET', keys.markets, symbol, ARGV[6])
redis.call('HSET', keys.assets, ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[7] .. ' used', '1', ARGV[9] .. ' used', '1')
emit(keys, state, event_time(state), { 'kind', 'market_changed', 'market', ARGV[6] }, {},
  { 'version:' .. number, ARGV[5] })
return { 'set', text(state.sequence) }
