#!lua
--[[
Places one order: claims its client id, checks everything, matches, moves both sides' balances and the fee,
rests what may rest, and appends the event. Nothing is written before the last check has passed.

KEYS  1 engine  2 events  3 bids  4 asks  5 base balances  6 quote balances  7 live orders
      8 claims 0  9 claims 1  10 claim filter  11 unsettled 0  12 unsettled 1  13 markets
      14 levels of the bids  15 levels of the asks  16 next claim filter
ARGV  1 epoch  2 market version  3 market number  4 symbol  5 wallet (20 bytes)
      6 side (buy|sell)  7 type (limit|market)  8 time in force (GTC|IOC|FOK)  9 post-only (0|1)
      10 price in ticks ('' for market)  11 size in steps ('' for a quote amount)  12 budget in quote atoms ('' for a size)
      13 client order id ('' for none)  14 filter offset  15 filter mask (8 bytes)  16 checked in Postgres at (ms, 0 never)
      17 base atoms per step  18 quote atoms per lot  19 taker fee in bps  20 self-trade policy
      21 min steps ('' for none)  22 max steps ('' for none)  23 has a reference price (0|1)  24 pre-open (0|1)
      25 most makers met  26 most live orders of a wallet  27 the order's terms as JSON, copied into the event
      28 is the caller's country blocked (0|1)  29 claim of the client order id (its digest)
      30 layout of the filters  31 offset in the next filter ('' for none)
Replies  { placed, sequence, time, status, size, filled, first trade id, fills,
           reject reason ('' for none), epoch }
         { claimed, order reference } | { unchecked, time } | { stale, epoch|filter|market } | { refused, code }
         fills: 56 bytes each:  maker's price key (7) | epoch (2) | sequence (6) | wallet (20) | steps (7) | fee (7) | left (7)
Events   order_placed; after a failed settlement also market_changed
]]
--- include exact
--- include place_in_book
--- include engine_state
--- include emit
--- include claim
--- include admit
--- include fee_of
--- include closed_record
--- include change_balances
--- include exact_sum
--- include levels
--- include walk_book
--- include needs_of
--- include settle_fills
--- include rest
--- include halt_market

local keys = {
  engine = KEYS[1], events = KEYS[2], book = { buy = KEYS[3], sell = KEYS[4] },
  base = KEYS[5], quote = KEYS[6], live = KEYS[7],
  claims = { KEYS[8], KEYS[9] }, filter = KEYS[10], next_filter = KEYS[16], unsettled = { KEYS[11], KEYS[12] }, markets = KEYS[13],
  levels = { buy = KEYS[14], sell = KEYS[15] },
}
local order = {
  market_number = ARGV[3], symbol = ARGV[4], wallet = ARGV[5],
  side = ARGV[6], type = ARGV[7], time_in_force = ARGV[8], post_only = ARGV[9] == '1',
  price = tonumber(ARGV[10]), size = tonumber(ARGV[11]), budget = tonumber(ARGV[12]), client_id = ARGV[13],
  terms = ARGV[27],
}
local market = {
  version = ARGV[2], number = ARGV[3], symbol = ARGV[4],
  base_per_step = tonumber(ARGV[17]), quote_per_lot = tonumber(ARGV[18]), fee_bps = tonumber(ARGV[19]),
  self_trade = ARGV[20], min_steps = tonumber(ARGV[21]), max_steps = tonumber(ARGV[22]),
  has_reference = ARGV[23] == '1', pre_open = ARGV[24] == '1',
}
local limits = { makers = tonumber(ARGV[25]), live = tonumber(ARGV[26]) }
local claim = order.client_id ~= '' and {
  field = ARGV[29], offset = tonumber(ARGV[14]), mask = ARGV[15], checked_at = tonumber(ARGV[16]),
  layout = ARGV[30], next_offset = tonumber(ARGV[31]),
}

local state = read_state(keys.engine, order.market_number, order.wallet)
local time = event_time(state)
local ended = admit(keys, state, ARGV[1], market, claim, time, ARGV[28])
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
