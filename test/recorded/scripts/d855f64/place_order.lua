#!lua
--[[
Places one order: claims its client id, checks everything, matches, moves both sides' balances and the fee,
rests what may rest, and appends the event. Nothing is written before the last check has passed.

KEYS  1 engine  2 events  3 bids  4 asks  5 base balances  6 quote balances  7 live orders
      8 claims 0  9 claims 1  10 claim filter  11 unsettled 0  12 unsettled 1  13 markets
      14 levels of the bids  15 levels of the asks
ARGV  1 epoch  2 market version  3 market number  4 symbol  5 wallet (20 bytes)
      6 side (buy|sell)  7 type (limit|market)  8 time in force (GTC|IOC|FOK)  9 post-only (0|1)
      10 price in ticks ('' for market)  11 size in steps ('' for a quote amount)  12 budget in quote atoms ('' for a size)
      13 client order id ('' for none)  14 filter offset  15 filter mask (8 bytes)  16 checked in Postgres at (ms, 0 never)
      17 base atoms per step  18 quote atoms per lot  19 taker fee in bps  20 self-trade policy
      21 min steps ('' for none)  22 max steps ('' for none)  23 has a reference price (0|1)  24 pre-open (0|1)
      25 most makers met  26 most live orders of a wallet  27 the order's terms as JSON, copied into the event
      28 is the caller's country blocked (0|1)  29 claim of the client order id (its digest)
Replies  { placed, sequence, time, status, size, filled, first trade id, fills,
           reject reason ('' for none), epoch }
         { claimed, order reference } | { unchecked, time } | { stale, epoch|market } | { refused, code }
         fills: 56 bytes each:  maker's price key (7) | epoch (2) | sequence (6) | wallet (20) | steps (7) | fee (7) | left (7)
Events   order_placed; after a failed settlement also market_changed
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
-- Ids that may be used once for ever: a wallet's client order ids, references of credits and debits.
-- Redis remembers one in a hash of two generations until Postgres has had it for a while; a Bloom filter
-- of 64-bit blocks remembers for ever that it may exist, so that a new id costs one read.
-- `claim` is { field, offset, mask (8), checked_at }; the field is a digest that tells wallets and kinds apart.

-- Replies what ends the command because of the claim, or nil: the id is free.
-- Where only Postgres may know it, the caller must have looked there less than five minutes ago. Redis forgets
-- an id ten minutes after Postgres has it, so what was not there then is still here now.
local function find_claim(keys, claim, time)
  local block = redis.call('GETRANGE', keys.filter, claim.offset, text(claim.offset + 7))
  if #block < 8 then block = block .. string.rep('\0', 8 - #block) end
  claim.high, claim.low = struct.unpack('>I4I4', block)
  claim.mask_high, claim.mask_low = struct.unpack('>I4I4', claim.mask)
  if bit.band(claim.high, claim.mask_high) ~= bit.tobit(claim.mask_high)
      or bit.band(claim.low, claim.mask_low) ~= bit.tobit(claim.mask_low) then
    return nil
  end
  local known = redis.call('HGET', keys.claims[1], claim.field) or redis.call('HGET', keys.claims[2], claim.field)
  if known then return { 'claimed', known } end
  if time - claim.checked_at >= 300000 then return { 'unchecked', text(time) } end
  return nil
end

-- After find_claim has found it free.
local function write_claim(keys, state, claim, value)
  local function unsigned(word) return word < 0 and word + 4294967296 or word end
  redis.call('HSET', keys.claims[state.claims + 1], claim.field, value)
  redis.call('SETRANGE', keys.filter, claim.offset, struct.pack('>I4I4',
    unsigned(bit.bor(claim.high, claim.mask_high)), unsigned(bit.bor(claim.low, claim.mask_low))))
end
-- The part of the precedence of refusals that only the engine knows. Replies what ends the command, or nil.
-- `version`: of the market rules the replica used; nil when it knows no such market.
-- `restricted`: '1' when the caller's country is blocked; the replica knows, its place in the order is here.
local function admit(keys, state, epoch, version, claim, time, restricted)
  if state.epoch ~= epoch then return { 'stale', 'epoch' } end
  local ended = claim and find_claim(keys, claim, time)
  if ended then return ended end
  if state.paused then return { 'refused', 'OPERATIONAL_PAUSED' } end
  if restricted == '1' then return { 'refused', 'RESTRICTED_JURISDICTION' } end
  if state.terms and state.terms ~= state.accepted_terms then return { 'refused', 'STALE_TERMS_VERSION' } end
  if state.held then return { 'refused', 'CUSTODY_HOLD' } end
  if version and state.version ~= version then return { 'stale', 'market' } end
  return nil
end
-- Taker fee in quote atoms: ceil(notional * bps / 10000), exact for every notional below 2^53.
-- notional * bps would pass 2^53; the quotient is split off first. Should the division round up,
-- the remainder is negative and the sum is still right.
local function fee_of(notional, bps)
  local whole = math.floor(notional / 10000)
  return whole * bps + math.ceil((notional - whole * 10000) * bps / 10000)
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
-- Balances of an asset: one hash, fields `wallet (20) a` (available) and `wallet (20) r` (reserved).
-- They are collected first and written as one HINCRBY a field, so that a field met often costs one call.
-- Each sum belongs to one order's fills and stays below 2^53; the balances themselves may be larger.
local function add(changes, field, amount)
  changes[field] = (changes[field] or 0) + amount
end

local function write_changes(key, changes)
  for field, amount in pairs(changes) do
    if amount ~= 0 then redis.call('HINCRBY', key, field, text(amount)) end
  end
end

-- Whether each field of `needs` holds at least its amount.
local function covers(key, needs)
  local fields = {}
  for field in pairs(needs) do fields[#fields + 1] = field end
  if #fields == 0 then return true end
  local held = redis.call('HMGET', key, unpack(fields))
  for index, field in ipairs(fields) do
    if tonumber(held[index] or 0) < needs[field] then return false end
  end
  return true
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
-- Walks the opposite side best first and plans the fills; writes nothing.
-- Returns a table:
--   fills      { member, stamp, wallet, key, price, steps, left, notional, fee } in the order of execution
--   expired    own members that self-trade prevention takes off the book
--   filled     steps, notional and fee: quote atoms, of all fills
--   crosses    whether anything at all stands at a crossing price, the wallet's own included
--   ended      'book' (no more crossing orders) | 'size' | 'own_order' | 'makers' | 'budget'
--   inexact    whether a running total would pass 2^53, so that the order must be refused
local FIRST_PAGE, PAGE = 4, 256

local function crossing_bound(order)
  if order.type == 'market' then return '+' end
  return '(' .. struct.pack('>I7', price_key(other_side(order.side), order.price) + 1)
end

-- Whole steps that the rest of a budget pays for at `price`.
local function steps_affordable(order, market, walk, price)
  local each, room = price * market.quote_per_lot, order.budget - walk.notional
  local steps = math.floor(room / each)
  if steps * each > room then return steps - 1 end -- the division may have rounded up
  return steps
end

-- How many steps of a maker's `left` the order takes at `price`.
local function steps_taken(order, market, walk, price, left)
  if order.size then return math.min(left, order.size - walk.filled) end
  local steps = steps_affordable(order, market, walk, price)
  if steps < left then walk.out_of_budget = true end
  return math.min(left, steps)
end

-- An own ask that the rest of a budget no longer reaches is not met, and stays.
local function is_out_of_reach(order, market, walk, key)
  return order.budget and walk.filled > 0
    and steps_affordable(order, market, walk, price_key(other_side(order.side), key)) == 0
end

local function meet_own_order(walk, member, policy)
  if policy ~= 'expire_taker' then walk.expired[#walk.expired + 1] = member end
  if policy ~= 'expire_maker' then walk.ended = 'own_order' end
end

local function fill(order, market, walk, member, key, stamp, wallet, left)
  local price = price_key(other_side(order.side), key)
  local steps = steps_taken(order, market, walk, price, left)
  if steps > 0 then
    local notional = price * steps * market.quote_per_lot
    local fee = fee_of(notional, market.fee_bps)
    walk.filled = walk.filled + steps
    walk.notional = walk.notional + notional
    walk.fee = walk.fee + fee
    walk.fills[#walk.fills + 1] = { member = member, stamp = stamp, wallet = wallet, key = key, price = price,
      steps = steps, left = left - steps, notional = notional, fee = fee }
  end
  if walk.notional + walk.fee >= EXACT_LIMIT or walk.filled * market.base_per_step >= EXACT_LIMIT then
    walk.inexact, walk.ended = true, 'size'
  elseif order.size and walk.filled == order.size then
    walk.ended = 'size'
  elseif walk.out_of_budget then
    walk.ended = 'budget'
    -- A budget of 2^53 stands for any larger one: that order would have gone on.
    walk.inexact = order.budget == EXACT_LIMIT
  end
end

local function walk_book(book, order, market, most_makers)
  local walk = { fills = {}, expired = {}, filled = 0, notional = 0, fee = 0, crosses = false }
  local from, bound, page_size, met = '-', crossing_bound(order), FIRST_PAGE, 0
  while not walk.ended do
    local page = redis.call('ZRANGE', book, from, bound, 'BYLEX', 'LIMIT', 0, page_size)
    for _, member in ipairs(page) do
      walk.crosses = true
      if met == most_makers then walk.ended = 'makers' end
      if walk.ended or order.post_only then break end
      met = met + 1
      local key, stamp, wallet, _, left = read_member(member)
      if wallet ~= order.wallet then
        fill(order, market, walk, member, key, stamp, wallet, left)
      elseif is_out_of_reach(order, market, walk, key) then
        walk.ended = 'budget'
      else
        meet_own_order(walk, member, market.self_trade)
      end
    end
    if #page < page_size or order.post_only then walk.ended = walk.ended or 'book' end
    from, page_size = '(' .. (page[#page] or ''), PAGE
  end
  return walk
end
-- What must be available for the order, in atoms of the asset it pays with: exactly its fills and its rest,
-- the fee included. An order that the engine refuses is checked as the documentation says: post-only as if
-- it would rest, an unfillable limit FOK whole at its limit price, a market FOK for what it could fill.
local function needs_of(order, market, walk, reject_reason, rest_steps)
  local whole_at_limit = reject_reason == 'POST_ONLY_WOULD_CROSS'
    or (reject_reason == 'FOK_NOT_FILLED' and order.type == 'limit')
  if order.side == 'sell' then
    return (whole_at_limit and order.size or walk.filled + rest_steps) * market.base_per_step
  end
  if whole_at_limit then
    local notional = order.size * order.price * market.quote_per_lot
    return notional + (reject_reason == 'FOK_NOT_FILLED' and fee_of(notional, market.fee_bps) or 0)
  end
  local rest = rest_steps > 0 and rest_steps * order.price * market.quote_per_lot or 0
  return walk.notional + walk.fee + rest
end
-- What a resting order of the side that is met holds: base atoms of an ask, quote atoms of a bid.
local function held_by(order, market, member)
  local key, _, _, _, left = read_member(member)
  if order.side == 'buy' then return left * market.base_per_step end
  return left * price_key('buy', key) * market.quote_per_lot
end

-- The own orders that a walk met: { live, member, key, had_fills, left, held } each; nil when one is not listed as live.
local function find_expired(keys, order, market, walk)
  local prefix, expired = book_prefix(order.market_number, other_side(order.side)), {}
  for index, member in ipairs(walk.expired) do
    local live = live_record(keys, order.wallet, prefix .. string.sub(member, 1, 15))
    if not live then return nil end
    local _, _, _, had_fills, left = read_member(member)
    expired[index] = { live = live, member = member, key = string.sub(member, 1, 7), had_fills = had_fills,
      left = left, held = held_by(order, market, member) }
  end
  return expired
end

-- What a walk changes: balances per asset and field, sizes per level, and what the makers must have reserved for it.
local function plan_changes(keys, order, market, walk)
  local base, quote, levels, needs = {}, {}, {}, {}
  local buys = order.side == 'buy'
  local pays, receives = buys and quote or base, buys and base or quote
  for _, one in ipairs(walk.fills) do
    local atoms = one.steps * market.base_per_step
    local given, taken = buys and atoms or one.notional, buys and one.notional or atoms
    add(needs, one.wallet .. 'r', given)
    add(receives, one.wallet .. 'r', -given)
    add(pays, one.wallet .. 'a', taken)
    add(levels, string.sub(one.member, 1, 7), -one.steps)
  end
  local base_atoms = walk.filled * market.base_per_step
  if buys then
    add(quote, order.wallet .. 'a', -(walk.notional + walk.fee))
    add(base, order.wallet .. 'a', base_atoms)
  else
    add(base, order.wallet .. 'a', -base_atoms)
    add(quote, order.wallet .. 'a', walk.notional - walk.fee)
  end
  add(quote, 'house', walk.fee)
  local expired, own_needs = find_expired(keys, order, market, walk), {}
  for _, one in ipairs(expired or {}) do add_exactly(own_needs, order.wallet .. 'r', one.held) end
  return { base = base, quote = quote, levels = levels, expired = expired, maker_needs = needs,
    own_needs = own_needs, maker_asset = buys and keys.base or keys.quote }
end

-- Whether the makers have reserved what a walk takes from them, and the wallet what its expired orders held.
local function can_settle(changes)
  return changes.expired and covers(changes.maker_asset, changes.maker_needs)
    and covers_exactly(changes.maker_asset, changes.own_needs)
end

-- Takes the wallet's own orders that were met off the book; replies their closed records.
-- Together they may hold more than 2^53 atoms, so each is released by itself.
local function expire_own(keys, order, changes)
  local side, records = other_side(order.side), {}
  for index, one in ipairs(changes.expired) do
    records[index] = closed_record(one.live, one.had_fills)
    redis.call('ZREM', keys.book[side], one.member)
    redis.call('ZREM', keys.live, one.live)
    redis.call('HINCRBY', changes.maker_asset, order.wallet .. 'r', text(0 - one.held))
    redis.call('HINCRBY', changes.maker_asset, order.wallet .. 'a', text(one.held))
    write_levels(keys.levels[side], { [one.key] = -one.left })
  end
  return table.concat(records)
end

-- Writes the makers' side of the book; replies the fills as they stand in the event and the reply.
local function settle_fills(keys, order, walk, changes, wallets)
  if #walk.fills == 0 then return '' end
  local book, gone, records = keys.book[other_side(order.side)], {}, {}
  local prefix = book_prefix(order.market_number, other_side(order.side))
  for index, one in ipairs(walk.fills) do
    wallets[one.wallet] = true
    gone[index] = one.member
    local head = string.sub(one.member, 1, 35)
    records[index] = head .. struct.pack('>I7I7I7', one.steps, one.fee, one.left)
    if one.left > 0 then
      redis.call('ZADD', book, '0', head .. remainder(1, one.left))
    else
      local live = one.wallet .. prefix .. string.sub(one.member, 1, 15)
      redis.call('ZREMRANGEBYLEX', keys.live, '[' .. live, '(' .. live .. '\255')
    end
  end
  redis.call('ZREM', book, unpack(gone))
  return table.concat(records)
end
-- Puts the remainder on the book, reserves it, and lists the order among its wallet's live ones.
local function rest(keys, order, market, remaining, changes)
  local buys = order.side == 'buy'
  local held = remaining * (buys and order.price * market.quote_per_lot or market.base_per_step)
  local asset = buys and changes.quote or changes.base
  add(asset, order.wallet .. 'a', -held)
  add(asset, order.wallet .. 'r', held)
  redis.call('ZADD', keys.book[order.side], '0',
    order.key .. order.stamp .. order.wallet .. remainder(remaining < order.size and 1 or 0, remaining))
  write_levels(keys.levels[order.side], { [order.key] = remaining })
  redis.call('ZADD', keys.live, '0', order.wallet .. order.reference .. order.client_id)
end
-- Halts a market whose match could not be paid; an operator resumes it after a reconcile.
-- The record is JSON of our own making, so `status` and `version` stand in it exactly once.
local function halt_market(keys, state, time, market_number, symbol)
  local version = tonumber(state.version) + 1
  local record = redis.call('HGET', keys.markets, symbol)
  record = string.gsub(record, '"status":"[%a_]+"', '"status":"halted"', 1)
  record = string.gsub(record, '"version":%d+', '"version":' .. text(version), 1)
  redis.call('HSET', keys.markets, symbol, record)
  emit(keys, state, time, { 'kind', 'market_changed', 'market', record }, {},
    { 'version:' .. market_number, text(version) })
end

local keys = {
  engine = KEYS[1], events = KEYS[2], book = { buy = KEYS[3], sell = KEYS[4] },
  base = KEYS[5], quote = KEYS[6], live = KEYS[7],
  claims = { KEYS[8], KEYS[9] }, filter = KEYS[10], unsettled = { KEYS[11], KEYS[12] }, markets = KEYS[13],
  levels = { buy = KEYS[14], sell = KEYS[15] },
}
local order = {
  market_number = ARGV[3], symbol = ARGV[4], wallet = ARGV[5],
  side = ARGV[6], type = ARGV[7], time_in_force = ARGV[8], post_only = ARGV[9] == '1',
  price = tonumber(ARGV[10]), size = tonumber(ARGV[11]), budget = tonumber(ARGV[12]), client_id = ARGV[13],
  terms = ARGV[27],
}
local market = {
  base_per_step = tonumber(ARGV[17]), quote_per_lot = tonumber(ARGV[18]), fee_bps = tonumber(ARGV[19]),
  self_trade = ARGV[20], min_steps = tonumber(ARGV[21]), max_steps = tonumber(ARGV[22]),
  has_reference = ARGV[23] == '1', pre_open = ARGV[24] == '1',
}
local limits = { makers = tonumber(ARGV[25]), live = tonumber(ARGV[26]) }
local claim = order.client_id ~= '' and {
  field = ARGV[29], offset = tonumber(ARGV[14]), mask = ARGV[15], checked_at = tonumber(ARGV[16]),
}

local state = read_state(keys.engine, order.market_number, order.wallet)
local time = event_time(state)
local ended = admit(keys, state, ARGV[1], ARGV[2], claim, time, ARGV[28])
if ended then return ended end

-- Whether the book can value a size-denominated market order: mark = mid, last, quoted side or reference.
local function has_mark()
  return state.last or market.has_reference
    or redis.call('EXISTS', keys.book.buy, keys.book.sell) > 0
end

local walk = walk_book(keys.book[other_side(order.side)], order, market, limits.makers)
local crosses = walk.crosses
if order.size and walk.inexact then return { 'refused', 'ORDER_ABOVE_MAX_SIZE' } end
if market.pre_open and crosses then return { 'refused', 'MARKET_PRE_OPEN' } end
if order.type == 'market' and order.size and not has_mark() then return { 'refused', 'NO_REFERENCE_PRICE' } end
if order.budget then
  if walk.filled == 0 and not walk.out_of_budget then return { 'refused', 'NO_LIQUIDITY' } end
  if walk.filled == 0 then return { 'refused', 'QUOTE_AMOUNT_TOO_SMALL' } end
  if market.min_steps and walk.filled < market.min_steps then return { 'refused', 'ORDER_BELOW_MIN_SIZE' } end
  if market.max_steps and walk.filled > market.max_steps then return { 'refused', 'ORDER_ABOVE_MAX_SIZE' } end
  if walk.inexact then return { 'refused', 'ORDER_ABOVE_MAX_SIZE' } end
  order.size = walk.filled
end

local remaining = order.size - walk.filled
local reject_reason = ''
if order.post_only and crosses then
  reject_reason = 'POST_ONLY_WOULD_CROSS'
elseif order.time_in_force == 'FOK' and remaining > 0 then
  reject_reason = 'FOK_NOT_FILLED'
end
local rests = reject_reason == '' and remaining > 0 and order.type == 'limit'
  and order.time_in_force == 'GTC' and walk.ended == 'book'

local asset = order.side == 'buy' and keys.quote or keys.base
local need = needs_of(order, market, walk, reject_reason, rests and remaining or 0)
-- Many small fills pay more fees than the whole order would at its limit: the sum may pass what it passed before.
if need >= EXACT_LIMIT then return { 'refused', 'ORDER_ABOVE_MAX_SIZE' } end
if tonumber(redis.call('HGET', asset, order.wallet .. 'a') or 0) < need then
  return { 'refused', 'INSUFFICIENT_BALANCE' }
end
if rests then
  local live = redis.call('ZLEXCOUNT', keys.live, '[' .. order.wallet, '(' .. order.wallet .. '\255')
  if live >= limits.live then return { 'refused', 'BAD_REQUEST' } end
end

local stamp = stamp_of(state.epoch, state.sequence + 1)
order.key = struct.pack('>I7', order.price and price_key(order.side, order.price) or 0)
order.reference = book_prefix(order.market_number, order.side) .. order.key .. stamp
order.stamp = stamp

local changes = reject_reason == '' and plan_changes(keys, order, market, walk)
if changes and not can_settle(changes) then
  reject_reason = 'SETTLEMENT_FAILED'
end

-- From here on everything is written; nothing below may fail.
local status, wallets, also = 'rejected', { [order.wallet] = true }, {}
local first_trade, fills, expired = 0, '', ''
if reject_reason == '' then
  if #walk.fills > 0 then
    first_trade = state.trade + 1
    also = { 'trade', text(state.trade + #walk.fills), 'last:' .. order.market_number,
      text(walk.fills[#walk.fills].price) }
  end
  expired = expire_own(keys, order, changes)
  fills = settle_fills(keys, order, walk, changes, wallets)
  if rests then rest(keys, order, market, remaining, changes) end
  write_levels(keys.levels[other_side(order.side)], changes.levels)
  write_changes(keys.base, changes.base)
  write_changes(keys.quote, changes.quote)
  if remaining == 0 then
    status = 'filled'
  elseif rests then
    status = walk.filled > 0 and 'partially_filled' or 'resting'
  elseif walk.filled > 0 then
    status = 'partially_filled_cancelled'
  else
    status = walk.ended == 'own_order' and 'cancelled' or 'expired'
  end
end
if claim then write_claim(keys, state, claim, order.reference) end
local filled = reject_reason == '' and walk.filled or 0
local size_text, filled_text, trade_text = text(order.size), text(filled), text(first_trade)
emit(keys, state, time, { 'kind', 'order_placed', 'order', order.terms, 'outcome',
  table.concat({ status, size_text, filled_text, trade_text, reject_reason }, ' '), 'fills', fills, 'expired', expired },
  wallets, also)
local placed = { 'placed', text(state.sequence), text(time), status, size_text, filled_text, trade_text, fills,
  reject_reason, state.epoch }
if reject_reason == 'SETTLEMENT_FAILED' then halt_market(keys, state, time, order.market_number, order.symbol) end
return placed
