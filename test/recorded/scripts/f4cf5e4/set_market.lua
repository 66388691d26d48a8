#!lua flags=allow-oom
--[[
Publishes a market or replaces its record, if it still is the version that was read.

KEYS  1 engine  2 events  3 markets  4 assets  5 bids  6 asks  7 unsettled 0  8 unsettled 1
ARGV  1 epoch  2 symbol  3 number  4 version replaced (0 for a new market)
      5 new record as JSON, whose version is written here  6 base  7 base scale  8 quote  9 quote scale
      10 must the book be empty (0|1)
Replies  { set, sequence, version } | { stale, epoch|market } | { stale, scale } when an asset's scale is another one
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

-- A market's rules, and whether those that a replica read are in force.
-- Each change gives the market a version that no other change was ever given, by this engine or by one that was lost:
-- epoch * 2^37 + Redis' time in ms modulo 2^37. An epoch that was lost with its first events may be given again, but
-- not at the same time. Versions of earlier releases are small counts.
local VERSIONS_PER_EPOCH = 137438953472 -- 2^37

local function next_version(state, time)
  local version = tonumber(state.epoch) * VERSIONS_PER_EPOCH + time % VERSIONS_PER_EPOCH
  return math.max(version, tonumber(state.version or 0) + 1)
end

-- The record is JSON of our own making, so `version` stands in it exactly once.
local function with_version(record, version)
  return (string.gsub(record, '"version":%d+', '"version":' .. text(version), 1))
end

-- Fields of the engine hash, written with a market's record.
local function fields_of_rules(number, symbol, version)
  return { 'version:' .. number, text(version), 'symbol:' .. number, symbol }
end

-- True when the number is the symbol's. `found`: the field `symbol:<number>`, which a market that an earlier release
-- published lacks; its record tells the number.
local function is_number_of(markets, symbol, number, found)
  if found then return found == symbol end
  local record = redis.call('HGET', markets, symbol)
  return record and string.match(record, '"number":(%d+)') == number
end

-- `market`: number, symbol and version, as text, of the rules that the replica used.
-- `version`, `symbol`: what the engine hash holds for that number.
local function are_in_force(markets, market, version, symbol)
  return version == market.version and is_number_of(markets, market.symbol, market.number, symbol)
end

local keys = {
  engine = KEYS[1], events = KEYS[2], markets = KEYS[3], assets = KEYS[4], bids = KEYS[5], asks = KEYS[6],
  unsettled = { KEYS[7], KEYS[8] },
}
local market = { symbol = ARGV[2], number = ARGV[3], version = ARGV[4] }
local state = read_state(keys.engine, market.number, '')

local function is_unused()
  return not state.version and redis.call('HEXISTS', keys.markets, market.symbol) == 0
    and text(redis.call('HLEN', keys.markets)) == market.number
end

if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
local is_current
if market.version == '0' then
  is_current = is_unused()
else
  is_current = are_in_force(keys.markets, market, state.version, state.symbol)
end
if not is_current then return { 'stale', 'market' } end
for at = 6, 8, 2 do
  local scale = redis.call('HGET', keys.assets, ARGV[at])
  if scale and scale ~= ARGV[at + 1] then return { 'stale', 'scale' } end
end
if ARGV[10] == '1' and redis.call('EXISTS', keys.bids, keys.asks) > 0 then
  return { 'refused', 'BOOK_NOT_EMPTY' }
end

local time = event_time(state)
local version = next_version(state, time)
local record = with_version(ARGV[5], version)
redis.call('HSET', keys.markets, market.symbol, record)
redis.call('HSET', keys.assets, ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[6] .. ' used', '1', ARGV[8] .. ' used', '1')
emit(keys, state, time, { 'kind', 'market_changed', 'market', record }, {},
  fields_of_rules(market.number, market.symbol, version))
return { 'set', text(state.sequence), text(version) }
