#!lua flags=allow-oom
--[[
Takes live orders of one market off the book and releases what they hold. Orders that are not live any more,
or belong to another wallet than the one asked for, are passed over.

KEYS  1 engine  2 events  3 bids  4 asks  5 base balances  6 quote balances  7 live orders
      8 unsettled 0  9 unsettled 1  10 levels of the bids  11 levels of the asks  12 markets
ARGV  1 epoch  2 wallet (20 bytes; '' for any)  3 cause (cancel|void|clear|hold)
      4 base atoms per step  5 quote atoms per lot  6 order references, 17 bytes each
      7 market number  8 symbol  9 market version
Replies  { closed, sequence, time, closed records } | { stale, epoch|market }
         { corrupt } when a reservation or a live record is missing
Events   orders_closed, when there was any
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
-- Where an order stands. A side's ZSET has all scores 0, so members sort as bytes:
--   price key (7) | epoch (2) | sequence (6) | wallet (20) | 1 once it had fills, else 0 (1) | remaining steps (7)
-- big-endian. Whether it had fills is told at a cancel, which does not know the size.
-- The price key of a bid is inverted, so the best order of either side, first come first, is member 0.
-- An order's reference is  market number * 2 + (1 for a sell) (2) | price key (7) | epoch (2) | sequence (6);
-- it is the public order id, and says which member of which book the order is.
local HIGHEST_KEY = 9007199254740991 -- 2^53 - 1

-- price key, stamp, wallet, whether it had fills (0 or 1), remaining steps
local function read_member(member)
  return struct.unpack('>I7c8c20I1I7', member)
end

-- The end of a member.
local function remainder(had_fills, steps)
  return struct.pack('>I1I7', had_fills, steps)
end

-- Price key <-> price in ticks, for the book of `side`; its own inverse.
local function price_key(side, price_or_key)
  if side == 'buy' then return HIGHEST_KEY - price_or_key end
  return price_or_key
end

local function other_side(side)
  if side == 'buy' then return 'sell' end
  return 'buy'
end

-- The first two bytes of every reference of a market's side.
local function book_prefix(market_number, side)
  return struct.pack('>I2', market_number * 2 + (side == 'sell' and 1 or 0))
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
-- How an order that left the book is told in events and replies:
--   wallet (20) | reference (17) | 1 when it had fills, else 0 (1) | client order id length (2) | client order id
-- A live order's record is the member  wallet (20) | reference (17) | client order id.
local function live_record(keys, wallet, reference)
  local prefix = wallet .. reference
  local found = redis.call('ZRANGE', keys.live, '[' .. prefix, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  if not found or string.sub(found, 1, 37) ~= prefix then return nil end
  return found
end

local function closed_record(live, had_fills)
  local client_id = string.sub(live, 38)
  return string.sub(live, 1, 37) .. struct.pack('>I1I2', had_fills, #client_id) .. client_id
end
-- Sums that may pass 2^53, such as what many orders hold together: { billions, rest } of each field.
local BILLION = 1000000000

local function add_exactly(sums, field, amount)
  local sum = sums[field] or { 0, 0 }
  local low = sum[2] + amount % BILLION
  sums[field] = { sum[1] + math.floor(amount / BILLION) + math.floor(low / BILLION), low % BILLION }
end

-- Whether each field of the hash holds at least its sum.
local function covers_exactly(key, sums)
  for field, sum in pairs(sums) do
    local held = redis.call('HGET', key, field) or '0'
    local high, low = tonumber(string.sub(held, 1, -10)) or 0, tonumber(string.sub(held, -9))
    if string.sub(held, 1, 1) == '-' or high < sum[1] or (high == sum[1] and low < sum[2]) then return false end
  end
  return true
end
-- The size that rests at each price: one hash a side, price key (7) -> steps, so that a book is read by its levels,
-- however many orders stand at them. Sums may pass 2^53 and stay in Redis' 64-bit arithmetic.
local function write_levels(levels, changes)
  for key, steps in pairs(changes) do
    if redis.call('HINCRBY', levels, key, text(steps)) == 0 then redis.call('HDEL', levels, key) end
  end
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
  engine = KEYS[1], events = KEYS[2], book = { buy = KEYS[3], sell = KEYS[4] },
  asset = { buy = KEYS[6], sell = KEYS[5] }, live = KEYS[7], unsettled = { KEYS[8], KEYS[9] },
  levels = { buy = KEYS[10], sell = KEYS[11] },
}
local owner, cause = ARGV[2], ARGV[3]
local base_per_step, quote_per_lot = tonumber(ARGV[4]), tonumber(ARGV[5])
local market = { number = ARGV[7], symbol = ARGV[8], version = ARGV[9] }
local state = read_state(keys.engine, market.number, '')
if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
if not are_in_force(KEYS[12], market, state.version, state.symbol) then return { 'stale', 'market' } end

-- The live order behind a reference, or nil.
local function find(reference)
  local side = string.byte(reference, 2) % 2 == 1 and 'sell' or 'buy'
  local place = string.sub(reference, 3)
  local member = redis.call('ZRANGE', keys.book[side], '[' .. place, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  if not member or string.sub(member, 1, 15) ~= place then return nil end
  local key, _, wallet, had_fills, left = read_member(member)
  if owner ~= '' and wallet ~= owner then return nil end
  local held = left * (side == 'buy' and price_key('buy', key) * quote_per_lot or base_per_step)
  return { side = side, member = member, wallet = wallet, had_fills = had_fills, left = left, held = held,
    live = live_record(keys, wallet, reference) }
end

local found, seen, needs = {}, {}, { buy = {}, sell = {} }
for at = 1, #ARGV[6], 17 do
  local reference = string.sub(ARGV[6], at, at + 16)
  local order = not seen[reference] and find(reference)
  if order then
    seen[reference] = true
    found[#found + 1] = order
    if not order.live then return { 'corrupt' } end
    add_exactly(needs[order.side], order.wallet .. 'r', order.held)
  end
end
if #found == 0 then return { 'closed', text(state.sequence), text(state.time), '' } end
if not covers_exactly(keys.asset.buy, needs.buy) or not covers_exactly(keys.asset.sell, needs.sell) then
  return { 'corrupt' }
end

local records, wallets = {}, {}
for index, order in ipairs(found) do
  redis.call('ZREM', keys.book[order.side], order.member)
  redis.call('ZREM', keys.live, order.live)
  write_levels(keys.levels[order.side], { [string.sub(order.member, 1, 7)] = -order.left })
  redis.call('HINCRBY', keys.asset[order.side], order.wallet .. 'r', text(0 - order.held))
  redis.call('HINCRBY', keys.asset[order.side], order.wallet .. 'a', text(order.held))
  records[index] = closed_record(order.live, order.had_fills)
  wallets[order.wallet] = true
end
local closed, time = table.concat(records), event_time(state)
emit(keys, state, time, { 'kind', 'orders_closed', 'cause', cause, 'orders', closed }, wallets)
return { 'closed', text(state.sequence), text(time), closed }
