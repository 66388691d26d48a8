#!lua
--[[
Places orders of one market, in the order given: claims each client id, checks everything, matches, moves both sides'
balances and the fee, rests what may rest, and appends an event for each. Every order is atomic by itself: all its
checks come before its first write, and an order that fails leaves nothing and does not touch the others. It stops
before the next order once the orders before have met as many makers as the call says.

KEYS  1 engine  2 events  3 bids  4 asks  5 base balances  6 quote balances  7 live orders  8 claims 0  9 claims 1
      10 unsettled 0  11 unsettled 1  12 markets  13 levels of the bids  14 levels of the asks
      15.. strings of the claim filters that the orders name
ARGV  1 the call  2.. an order each; `src/engine/placing-call.ts` describes their bytes
Replies  { epoch and time, an outcome for each order } as bytes described there
Events   an order_placed each; after a failed settlement also market_changed
]]
--- include exact
--- include place_in_book
--- include engine_state
--- include emit
--- include claim
--- include admit
--- include fee_of
--- include closed_record
--- include amounts
--- include exact_sum
--- include market_rules
--- include halt_market

-- Codes of `src/engine/placing-call.ts`.
local LIMIT, MARKET_FOR_SIZE, MARKET_FOR_BUDGET = 0, 1, 2
local GTC, IOC, FOK = 0, 1, 2
local EXPIRE_TAKER, EXPIRE_MAKER, EXPIRE_BOTH = 0, 1, 2
local REST, PART, FILLED, CANCELLED, PART_CANCELLED, REJECTED, EXPIRED = 1, 2, 3, 4, 5, 6, 7
local POST_ONLY_WOULD_CROSS, FOK_NOT_FILLED, SETTLEMENT_FAILED = 1, 2, 3
local UNTOUCHED, PLACED, CLAIMED, UNCHECKED, STALE, REFUSED, FAILED = 0, 1, 2, 3, 4, 5, 6

local keys = {
  engine = KEYS[1], events = KEYS[2], book = { [BUY] = KEYS[3], [SELL] = KEYS[4] }, live = KEYS[7],
  claims = { KEYS[8], KEYS[9] }, unsettled = { KEYS[10], KEYS[11] }, markets = KEYS[12],
}
local FIRST_FILTER, FIRST_ORDER = 15, 2

local epoch, market_number, version, base_per_step, quote_per_lot, fee_bps, self_trade, min_steps, max_steps,
  has_reference, pre_open, most_makers, most_makers_of_call, most_live, symbol, layout =
  struct.unpack('>I2I2I7I7I7I2I1I7I7I1I1I4I4I4I1c0I1c0', ARGV[1])
local market = {
  number = market_number, base_per_step = base_per_step, quote_per_lot = quote_per_lot, fee_bps = fee_bps,
  self_trade = self_trade, min_steps = min_steps, max_steps = max_steps, has_reference = has_reference == 1,
  pre_open = pre_open == 1, most_makers = most_makers,
}
local TERMS_AT = 47 -- where an order's terms begin, which its event repeats
local orders = {}
for index = FIRST_ORDER, #ARGV do
  local offset, filter, next_offset, next_filter, mask, digest, checked_at, restricted, amount, wallet, _market, side, kind,
    time_in_force, post_only, _leverage, price, client_id =
    struct.unpack('>I4I1I4I1c8c14I6I1I7c20I2I1I1I1I1I1I7I2c0', ARGV[index])
  orders[index - 1] = {
    wallet = wallet, side = side, kind = kind, time_in_force = time_in_force, post_only = post_only == 1,
    restricted = restricted == 1, price = kind == LIMIT and price, size = kind ~= MARKET_FOR_BUDGET and amount,
    budget = kind == MARKET_FOR_BUDGET and amount, client_id = client_id, bytes = ARGV[index],
    claim = client_id ~= '' and {
      field = digest, filter = KEYS[FIRST_FILTER + filter], offset = offset, mask = mask, checked_at = checked_at,
      next_filter = next_filter > 0 and KEYS[FIRST_FILTER + next_filter - 1], next_offset = next_offset,
    },
  }
end

--- include walk_book
--- include needs_of

local switches, wallet_switches, state = {}, {}, nil
local rules, rules_in_force, last_price, filter_in_force = rules_of(text(version), symbol), nil, nil, nil

-- The engine hash, in one call: what every order needs, and each wallet's own.
local function read_engine()
  local fields, wallets, count =
    { 'state', 'paused', 'terms', 'filter', 'rules:' .. market_number, 'last:' .. market_number }, {}, 6
  for _, order in ipairs(orders) do
    local wallet = order.wallet
    if not wallet_switches[wallet] then
      wallets[#wallets + 1], wallet_switches[wallet] = wallet, true
      fields[count + 1], fields[count + 2] = 'hold:' .. wallet, 'terms:' .. wallet
      count = count + 2
    end
  end
  local found = redis.call('HMGET', keys.engine, unpack(fields))
  state, filter_in_force, rules_in_force, last_price = decode_state(found[1]), found[4], found[5], found[6]
  switches.paused, switches.terms = found[2], found[3]
  for index, wallet in ipairs(wallets) do
    wallet_switches[wallet] = { held = found[index * 2 + 5], terms = found[index * 2 + 6] }
  end
end

read_engine()
local time, trade_before = event_time(state), state.trade
local base, quote = open_amounts(KEYS[5]), open_amounts(KEYS[6])
local levels = { [BUY] = open_amounts(KEYS[13]), [SELL] = open_amounts(KEYS[14]) }
-- Written at the end of the call: ids claimed by it (digest -> reference), live orders by their first 37 bytes and how
-- many each wallet has, entries of the unsettled index.
local claimed, live_added, live_counts, unsettled = {}, {}, {}, {}
local prefixes = { [BUY] = book_prefix(market_number, BUY), [SELL] = book_prefix(market_number, SELL) }

local function count_live(wallet)
  local count = live_counts[wallet]
  if not count then
    count = redis.call('ZLEXCOUNT', keys.live, '[' .. wallet, '(' .. wallet .. '\255')
    live_counts[wallet] = count
  end
  return count
end

-- Reads in one call what most orders of this call will need.
local function read_ahead()
  for _, order in ipairs(orders) do
    local pays = order.side == BUY and quote or base
    ask(pays, order.wallet .. 'a')
    ask(pays, order.wallet .. 'r')
    if order.price then ask(levels[order.side], struct.pack('>I7', price_key(order.side, order.price))) end
  end
  read_asked(base)
  read_asked(quote)
  read_asked(levels[BUY])
  read_asked(levels[SELL])
end

--- include plan_order
--- include commit_order

local function place(order)
  local ended, value = plan_order(order)
  if ended then return ended, value end
  return PLACED, commit_order(order)
end

if #orders > 1 then read_ahead() end
local replies, met = { '' }, 0
for index, order in ipairs(orders) do
  if met >= most_makers_of_call then
    replies[index + 1] = struct.pack('I1', UNTOUCHED)
  elseif state.epoch ~= epoch then
    replies[index + 1] = struct.pack('I1', STALE) .. 'epoch'
  else
    walk.met = 0
    local done, outcome, value = pcall(place, order)
    if not done then outcome, value = FAILED, tostring(outcome) end
    replies[index + 1] = struct.pack('I1', outcome) .. value
    met = met + walk.met
  end
end
write_call()
replies[1] = struct.pack('>I2I6', state.epoch, time)
return replies
