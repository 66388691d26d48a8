-- The fills that a walk plans, in the order of execution. Only the first `fills` items of each list count, because the
-- next walk of the call uses the same lists again. `notional_sum` and `fee_sum` are quote atoms.
local walk
local function clear_walk()
  walk = walk or { member = {}, wallet = {}, price = {}, steps = {}, left = {}, notional = {}, fee = {} }
  walk.fills, walk.filled, walk.notional_sum, walk.fee_sum = 0, 0, 0, 0
end

-- Returns the taker fee in quote atoms: ceil(notional * bps / 10000), exact for every notional below 2^53.
-- The quotient is split off first, because notional * bps may pass 2^53. If the division rounds up, the remainder is
-- negative and the sum is still right.
local function fee_of(notional, bps)
  local whole = math.floor(notional / 10000)
  return whole * bps + math.ceil((notional - whole * 10000) * bps / 10000)
end

-- Plans the next fill.
local function add_fill(member, maker, price, steps, left)
  local notional, at = price * steps * quote_per_lot, walk.fills + 1
  local fee = fee_of(notional, fee_bps)
  walk.fills, walk.filled = at, walk.filled + steps
  walk.notional_sum, walk.fee_sum = walk.notional_sum + notional, walk.fee_sum + fee
  walk.member[at], walk.wallet[at], walk.price[at], walk.steps[at] = member, maker, price, steps
  walk.left[at], walk.notional[at], walk.fee[at] = left, notional, fee
end

-- Takes an order off its wallet's live orders, if it is listed there. `prefix`: the first 37 bytes of its record.
local function drop_live(prefix, wallet)
  local gone = 1
  if live_added[prefix] then
    live_added[prefix] = nil
  else
    gone = redis.call('ZREMRANGEBYLEX', KEYS.live, '[' .. prefix, '(' .. prefix .. PREFIX_END)
  end
  if live_counts[wallet] then live_counts[wallet] = live_counts[wallet] - gone end
end

-- Returns the fills as bytes of the event.
local function fill_records()
  local records = {}
  for index = 1, walk.fills do
    records[index] = string.sub(walk.member[index], 1, 35)
      .. struct.pack(FILL_END_FORMAT, walk.steps[index], walk.fee[index])
  end
  return table.concat(records)
end

-- Writes the makers' side of the book and moves the balances of the fills. Comes after the event, which may be refused.
local function write_fills(side, wallet, pays, receives)
  local members, fills, buys = walk.member, walk.fills, side == BUY
  local sizes, book = amounts_of(KEYS[LEVELS + 1 - side]), KEYS[BOOK + 1 - side]
  local maker_prefix = struct.pack(BOOK_FORMAT, market_number * 2 + 1 - side)
  for index = 1, fills do
    local member, maker, steps, left = members[index], walk.wallet[index], walk.steps[index], walk.left[index]
    local atoms, notional = steps * base_per_step, walk.notional[index]
    if left > 0 then
      redis.call('ZADD', book, '0', string.sub(member, 1, 35) .. struct.pack(STEPS_FORMAT, left))
    else
      drop_live(maker .. maker_prefix .. string.sub(member, 1, 15), maker)
    end
    if not buys then
      atoms, notional = notional, atoms
    end
    add_to(receives, maker .. RESERVED, -atoms)
    add_to(pays, maker .. AVAILABLE, notional)
    add_to(sizes, string.sub(member, 1, 7), -steps)
  end
  for from = 1, fills, MAX_UNPACKED do
    redis.call('ZREM', book, unpack(members, from, math.min(from + MAX_UNPACKED - 1, fills)))
  end
  local atoms, cost, gain =
    walk.filled * base_per_step, walk.notional_sum + walk.fee_sum, walk.notional_sum - walk.fee_sum
  add_to(pays, wallet .. AVAILABLE, buys and -cost or -atoms)
  add_to(receives, wallet .. AVAILABLE, buys and atoms or gain)
  add_to(amounts_of(KEYS.quote_balances), HOUSE, walk.fee_sum)
end

-- Lists the event among the unsettled ones of the taker and of each maker.
local function index_wallets(wallet, stamp, fills)
  local seen, count = fills > 1 and {}, #unsettled
  unsettled[count + 1], unsettled[count + 2] = '0', wallet .. stamp
  for index = 1, fills do
    local maker = walk.wallet[index]
    if not seen or not seen[maker] then
      count = count + 2
      unsettled[count + 1], unsettled[count + 2] = '0', maker .. stamp
    end
    if seen then seen[maker] = true end
  end
end
