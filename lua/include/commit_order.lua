-- Writes one order that plan_order has accepted. Its event comes first, because Redis may refuse it (see
-- append_event.lua); nothing may fail after it. Books, filters and events are written at once; the next order of the
-- call reads the books and filters. Amounts and lists change in memory; write_call writes them.

-- Returns the closed records of the wallet's own orders that plan_own listed.
local function own_records(own)
  local records = {}
  for index, one in ipairs(own) do
    records[index] = closed_record(one.live, one.filled)
  end
  return table.concat(records)
end

-- Takes those orders off the book.
local function expire_own(order, maker_side, receives)
  local wallet = order.wallet
  for _, one in ipairs(order.own) do
    redis.call('ZREM', keys.book[maker_side], one.member)
    drop_live(string.sub(one.live, 1, 37), wallet)
    add_to(receives, wallet .. RESERVED, -one.held)
    add_to(receives, wallet .. AVAILABLE, one.held)
    add_to(levels[maker_side], string.sub(one.member, 1, 7), -one.left)
  end
end

-- Puts the remainder on the book, reserves it, and lists the order among its wallet's live ones.
local function write_rest(order, stamp, reference, pays)
  local wallet, remaining = order.wallet, order.remaining
  local held = held_atoms(order.side, order.price, remaining)
  redis.call('ZADD', keys.book[order.side], '0', order.key .. stamp .. wallet .. struct.pack(STEPS_FORMAT, remaining))
  add_to(pays, wallet .. AVAILABLE, -held)
  add_to(pays, wallet .. RESERVED, held)
  add_to(levels[order.side], order.key, remaining)
  local prefix = wallet .. reference
  live_added[prefix] = prefix .. struct.pack(STEPS_FORMAT, order.size) .. order.client_id
  live_counts[wallet] = live_counts[wallet] + 1
end

local function status_of(order)
  if order.reason ~= 0 then return REJECTED end
  if order.remaining == 0 then return FILLED end
  if order.rests then return walk.filled > 0 and PARTIALLY_FILLED or RESTING end
  if walk.filled > 0 then return PARTIALLY_FILLED_CANCELLED end
  return walk.ended == 'own_order' and CANCELLED or EXPIRED
end

local REASONS_OF_WALK = { own_order = SELF_TRADE_PREVENTED, makers = MAX_MAKERS, book = IOC_REMAINDER }

-- Returns the code of the reason for which the order ended; 0 when it rests or is filled.
local function reason_of(order)
  if order.reason ~= 0 or order.rests or order.remaining == 0 then return order.reason end
  return REASONS_OF_WALK[walk.ended]
end

local function write_claim(claim, reference)
  redis.call('SETRANGE', claim.filter, claim.first, claim.block)
  claimed[claim.field] = reference
end

-- Takes the replaced order off the book, with an event of its own before that of the order: a stream that takes the
-- first takes the second too. plan_order has released what it held. Returns its closed record.
local function close_replaced(old)
  local wallet = old.wallet
  local record = closed_record(old.live, old.filled)
  append_event(
    keys.events,
    state,
    time,
    struct.pack(CLOSED_EVENT_FORMAT, ORDERS_CLOSED, time, CAUSE_REPLACED) .. record
  )
  unsettled[#unsettled + 1] = '0'
  unsettled[#unsettled + 1] = wallet .. stamp_of(state.epoch, state.sequence)
  redis.call('ZREM', keys.book[old.side], old.member)
  drop_live(string.sub(old.live, 1, 37), wallet)
  return record
end

-- Appends the event of an order that meets `count` makers. Returns the bytes of its outcome in the reply.
-- `replaced`: closed record of the order that it replaces, or nil.
local function record_order(order, count, replaced)
  local filled, first_trade, fills, expired = 0, 0, '', ''
  if order.reason == 0 then
    filled = walk.filled
    if count > 0 then
      first_trade, fills = state.trade + 1, fill_records()
    end
    if order.own then expired = own_records(order.own) end
  end
  local match = struct.pack(MATCH_FORMAT, status_of(order), reason_of(order), order.size, filled, first_trade)
  append_event(
    keys.events,
    state,
    time,
    struct.pack(EVENT_FORMAT, ORDER_PLACED, time)
      .. match
      .. struct.pack(COUNT_FORMAT, count)
      .. order.terms
      .. fills
      .. expired
  )
  if replaced then replaced = struct.pack(COUNT_FORMAT, #replaced) .. replaced end
  return struct.pack(CODE_AND_SEQUENCE_FORMAT, replaced and REPLACED or PLACED, state.sequence)
    .. match
    .. (replaced or '')
    .. fills
end

-- Writes what an order changes that is not rejected: its remainder, the wallet's own orders, and its fills.
local function write_match(order, stamp, reference, count)
  local pays, receives = quote, base
  if order.side == SELL then
    pays, receives = base, quote
  end
  if order.rests then write_rest(order, stamp, reference, pays) end
  if order.own then expire_own(order, 1 - order.side, receives) end
  if count > 0 then
    state.trade = state.trade + count
    last_price = text(walk.price[count])
    write_fills(order.side, order.wallet, pays, receives)
  end
end

-- Writes the order and its event. Returns the bytes of its outcome in the reply.
local function commit_order(order)
  local replaced = order.old and order.reason == 0 and close_replaced(order.old) or nil
  local stamp, count = stamp_of(state.epoch, state.sequence + 1), order.reason == 0 and walk.fills or 0
  local reference = prefixes[order.side] .. order.key .. stamp
  local reply = record_order(order, count, replaced)
  if order.reason == 0 then write_match(order, stamp, reference, count) end
  if order.claim then write_claim(order.claim, reference) end
  index_wallets(order.wallet, stamp, count)
  if order.reason == SETTLEMENT_FAILED then
    rules_in_force = halt_market(keys, state, order.market_record, rules_in_force, time, market_number, symbol)
    is_open = false
  end
  return reply
end
