-- Writes one order that plan_order has passed: nothing here may fail. Books, events and filters are written at once,
-- because the next order of the call reads them; amounts and lists are changed in memory, and write_call writes them.

-- Takes a live order off its wallet's list. `prefix`: the first 37 bytes of its record, which a damaged engine may lack.
local function drop_live(prefix, wallet)
  local gone = 1
  if live_added[prefix] then
    live_added[prefix] = nil
  else
    gone = redis.call('ZREMRANGEBYLEX', keys.live, '[' .. prefix, '(' .. prefix .. '\255')
  end
  if live_counts[wallet] then live_counts[wallet] = live_counts[wallet] - gone end
end

-- Writes the makers' side of the book and moves the balances of the fills; returns the fills as the event has them.
local function write_fills(order, maker_side, pays, receives)
  local gone, records, wallet = {}, {}, order.wallet
  local buys, sizes, book = order.side == BUY, levels[maker_side], keys.book[maker_side]
  for index = 1, walk.fills do
    local member, maker, steps, left = walk.member[index], walk.wallet[index], walk.steps[index], walk.left[index]
    local head, atoms, notional = string.sub(member, 1, 35), steps * base_per_step, walk.notional[index]
    gone[index] = member
    records[index] = head .. struct.pack('>I7I7', steps, walk.fee[index])
    if left > 0 then
      redis.call('ZADD', book, '0', head .. struct.pack('>I1I7', 1, left))
    else
      drop_live(maker .. prefixes[maker_side] .. string.sub(member, 1, 15), maker)
    end
    add_to(receives, maker .. 'r', buys and -atoms or -notional)
    add_to(pays, maker .. 'a', buys and notional or atoms)
    add_to(sizes, string.sub(member, 1, 7), -steps)
  end
  for from = 1, #gone, MOST_UNPACKED do
    redis.call('ZREM', book, unpack(gone, from, math.min(from + MOST_UNPACKED - 1, #gone)))
  end
  local atoms = walk.filled * base_per_step
  add_to(pays, wallet .. 'a', buys and -(walk.notional_sum + walk.fee_sum) or -atoms)
  add_to(receives, wallet .. 'a', buys and atoms or walk.notional_sum - walk.fee_sum)
  add_to(quote, 'house', walk.fee_sum)
  return table.concat(records)
end

-- Takes the wallet's own orders that were met off the book; returns their closed records.
local function expire_own(order, maker_side, receives)
  local records, wallet = {}, order.wallet
  for index, one in ipairs(order.own) do
    records[index] = closed_record(one.live, one.had_fills)
    redis.call('ZREM', keys.book[maker_side], one.member)
    drop_live(string.sub(one.live, 1, 37), wallet)
    add_to(receives, wallet .. 'r', -one.held)
    add_to(receives, wallet .. 'a', one.held)
    add_to(levels[maker_side], string.sub(one.member, 1, 7), -one.left)
  end
  return table.concat(records)
end

-- Puts the remainder on the book, reserves it, and lists the order among its wallet's live ones.
local function write_rest(order, stamp, reference, pays)
  local wallet, remaining = order.wallet, order.remaining
  local held = remaining * (order.side == BUY and order.price * quote_per_lot or base_per_step)
  redis.call('ZADD', keys.book[order.side], '0',
    order.key .. stamp .. wallet .. struct.pack('>I1I7', remaining < order.size and 1 or 0, remaining))
  add_to(pays, wallet .. 'a', -held)
  add_to(pays, wallet .. 'r', held)
  add_to(levels[order.side], order.key, remaining)
  local prefix = wallet .. reference
  live_added[prefix] = prefix .. order.client_id
  live_counts[wallet] = live_counts[wallet] + 1
end

local function status_of(order)
  if order.reason ~= 0 then return REJECTED end
  if order.remaining == 0 then return FILLED end
  if order.rests then return walk.filled > 0 and PART or REST end
  if walk.filled > 0 then return PART_CANCELLED end
  return walk.ended == 'own_order' and CANCELLED or EXPIRED
end

-- Lists the event among the unsettled ones of the taker and of each maker.
local function index_wallets(order, stamp, fills)
  index_event(unsettled, stamp, order.wallet)
  local seen = fills > 1 and {}
  for index = 1, fills do
    local maker = walk.wallet[index]
    if not seen or not seen[maker] then index_event(unsettled, stamp, maker) end
    if seen then seen[maker] = true end
  end
end

-- Returns the outcome as the reply has it.
local function commit_order(order)
  local maker_side, pays, receives = 1 - order.side, quote, base
  if order.side == SELL then pays, receives = base, quote end
  local stamp = stamp_of(epoch, state.sequence + 1)
  local reference = prefixes[order.side] .. order.key .. stamp
  local filled, first_trade, count, fills, expired = 0, 0, 0, '', ''
  if order.reason == 0 then
    if order.rests then write_rest(order, stamp, reference, pays) end
    count, filled = walk.fills, walk.filled
    if order.own and order.own[1] then expired = expire_own(order, maker_side, receives) end
    if count > 0 then
      first_trade, state.trade = state.trade + 1, state.trade + count
      last_price = text(walk.price[count])
      fills = write_fills(order, maker_side, pays, receives)
    end
  end
  local claim = order.claim
  if claim then
    mark_claim(claim)
    claimed[claim.field] = reference
  end
  index_wallets(order, stamp, count)
  local outcome = struct.pack('>I1I1I7I7I7', status_of(order), order.reason, order.size, filled, first_trade)
  append_event(keys, state, time, 'order_placed',
    outcome .. struct.pack('>I2', count) .. string.sub(order.bytes, TERMS_AT) .. fills .. expired)
  local sequence = struct.pack('>I6', state.sequence)
  if order.reason == SETTLEMENT_FAILED then
    rules_in_force = halt_market(keys, state, order.market_record, rules_in_force, time, market_number, symbol)
  end
  return sequence .. outcome .. fills
end

-- Writes what the orders of this call have changed together.
local function write_call()
  write_amounts(base, false)
  write_amounts(quote, false)
  write_amounts(levels[BUY], true)
  write_amounts(levels[SELL], true)
  local members, ids, count = {}, {}, 0
  for _, member in pairs(live_added) do
    members[count + 1], members[count + 2] = '0', member
    count = count + 2
  end
  if count > 0 then redis.call('ZADD', keys.live, unpack(members)) end
  for digest, reference in pairs(claimed) do
    ids[#ids + 1] = digest
    ids[#ids + 1] = reference
  end
  if #ids > 0 then redis.call('HSET', keys.claims[state.claims + 1], unpack(ids)) end
  if #unsettled == 0 then return end
  write_unsettled(keys, state, unsettled)
  if state.trade > trade_before then
    redis.call('HSET', keys.engine, 'state', encode_state(state), 'last:' .. market_number, last_price)
  else
    redis.call('HSET', keys.engine, 'state', encode_state(state))
  end
end
