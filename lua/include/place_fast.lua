-- The fast path: a limit order, good till cancelled, that rests whole or is filled whole by a few orders of others.
-- place_fast makes the same writes as commit_order, in a straight line, and returns the outcome. It refuses only an
-- order that is one live order too many: a wallet at its limit may send many. When an order does not fit, it returns nil
-- before its first write, and the whole command decides. The event of the order is that first write (see
-- append_event.lua).

-- True while the rules are in force and no condition of all orders (pause, terms, pre-open) needs a check.
local is_open = rules == rules_in_force and not paused and not required_terms and pre_open == 0

-- Appends the event of the order, lists and claims the order, and returns its outcome.
local function record_fast(status, amount, wallet, reference, stamp, count, fills, claim_field, terms)
  local filled, first_trade = 0, 0
  if count > 0 then
    filled, first_trade = amount, state.trade + 1
  end
  append_event(
    KEYS.events,
    state,
    time,
    struct.pack(PLACED_EVENT_FORMAT, ORDER_PLACED, time, status, 0, amount, filled, first_trade, count)
      .. terms
      .. fills
  )
  if count > 0 then
    state.trade = state.trade + count
    last_price = string.format('%d', walk.price[count])
  end
  if claim_field then claimed[claim_field] = reference end
  index_wallets(wallet, stamp, count)
  return struct.pack(PLACED_FORMAT, PLACED, state.sequence, status, 0, amount, filled, first_trade) .. fills
end

-- Returns the outcome of an order that meets nobody, or nil. `block`: claim filter block with the id's bits, or nil.
local function rest_fast(side, price, amount, wallet, client_id, pays, filter, first, block, claim_field, terms)
  local need = held_atoms(side, price, amount)
  local key, available, reserved =
    struct.pack(KEY_FORMAT, price_key(side, price)), wallet .. AVAILABLE, wallet .. RESERVED
  local sizes = amounts_of(KEYS[LEVELS + side])
  ask(pays, available)
  ask(pays, reserved)
  ask(sizes, key)
  read_asked(pays)
  read_asked(sizes)
  if not all_are_numbers or pays.at[available] < need then return nil end
  if count_live(wallet) >= max_live then return struct.pack(CODE_FORMAT, REFUSED) .. 'TOO_MANY_LIVE' end

  local stamp = stamp_of(epoch, state.sequence + 1)
  local reference = struct.pack(BOOK_FORMAT, market_number * 2 + side) .. key .. stamp
  local outcome = record_fast(RESTING, amount, wallet, reference, stamp, 0, '', claim_field, terms)
  redis.call('ZADD', KEYS[BOOK + side], '0', key .. stamp .. wallet .. struct.pack(STEPS_FORMAT, amount))
  if block then redis.call('SETRANGE', filter, first, block) end
  add_to(pays, available, -need)
  add_to(pays, reserved, need)
  add_to(sizes, key, amount)
  local prefix = wallet .. reference
  live_added[prefix] = prefix .. struct.pack(STEPS_FORMAT, amount) .. client_id
  live_counts[wallet] = live_counts[wallet] + 1
  return outcome
end

-- Plans the fills of an order that one page of other wallets' orders fills whole; returns false for any other order.
local function plan_fast(page, side, amount, wallet, pays, receives, sizes)
  local found = #page
  clear_walk()
  for index = 1, found do
    local member, remaining = page[index], amount - walk.filled
    local key, maker, left = struct.unpack(MEMBER_FORMAT, member)
    if maker == wallet or left == 0 or index > max_makers then return false end
    local steps = left < remaining and left or remaining
    add_fill(member, maker, price_key(1 - side, key), steps, left - steps)
    ask(pays, maker .. AVAILABLE)
    ask(receives, maker .. RESERVED)
    ask(sizes, string.sub(member, 1, 7))
    if steps == remaining then
      return walk.notional_sum + walk.fee_sum < EXACT_LIMIT and amount * base_per_step < EXACT_LIMIT
    end
  end
  return false
end

-- Returns true when the makers have reserved what the fills take from them.
local function makers_hold(side, receives)
  local needs = walk.fills > 1 and {}
  for index = 1, walk.fills do
    local field, need =
      walk.wallet[index] .. RESERVED, side == BUY and walk.steps[index] * base_per_step or walk.notional[index]
    if needs then
      need = need + (needs[field] or 0)
      needs[field] = need
    end
    if receives.at[field] < need then return false end
  end
  return true
end

-- Returns the outcome of an order that is filled whole by a page of others' orders, or nil.
local function fill_fast(page, side, price, amount, wallet, pays, filter, first, block, claim_field, terms)
  local receives, sizes = amounts_of(KEYS[BASE + side]), amounts_of(KEYS[LEVELS + 1 - side])
  local house, available = amounts_of(KEYS.quote_balances), wallet .. AVAILABLE
  if not plan_fast(page, side, amount, wallet, pays, receives, sizes) then return nil end
  ask(pays, available)
  ask(receives, available)
  ask(house, HOUSE)
  read_asked(pays)
  read_asked(receives)
  read_asked(sizes)
  local cost = side == BUY and walk.notional_sum + walk.fee_sum or amount * base_per_step
  if not all_are_numbers or pays.at[available] < cost or not makers_hold(side, receives) then return nil end

  local stamp = stamp_of(epoch, state.sequence + 1)
  local reference = struct.pack(BOOK_AND_KEY_FORMAT, market_number * 2 + side, price_key(side, price)) .. stamp
  local outcome = record_fast(FILLED, amount, wallet, reference, stamp, walk.fills, fill_records(), claim_field, terms)
  write_fills(side, wallet, pays, receives)
  if block then redis.call('SETRANGE', filter, first, block) end
  makers_met = walk.fills
  return outcome
end

local function place_fast(bytes)
  if not is_open then return nil end
  local ORDER_FIELDS = struct.unpack(ORDER_FORMAT, bytes)
  if
    kind ~= LIMIT_ORDER
    or time_in_force ~= GTC
    or post_only == 1
    or restricted == 1
    or held[wallet]
    or replaces ~= ''
    or is_late(expires_after)
  then
    return nil
  end
  local block, filter_key, claim_field
  if client_id ~= '' then
    if layout ~= filter_in_force or claimed[digest] then return nil end
    local ended
    filter_key, claim_field = KEYS[FIRST_FILTER + filter], digest
    ended, block = find_claim(filter_key, first, last, mask, digest, checked_at, state.time)
    if ended then return nil end
  end
  local pays, terms = amounts_of(KEYS[QUOTE - side]), string.sub(bytes, 1, TERMS_BYTES + #client_id)
  local bound = '(' .. struct.pack(KEY_FORMAT, price_key(1 - side, price) + 1)
  local book = KEYS[BOOK + 1 - side]
  local page = redis.call('ZRANGE', book, '-', bound, 'BYLEX', 'LIMIT', '0', '1')
  if page[1] then
    local _, _, left = struct.unpack(MEMBER_FORMAT, page[1])
    if left < amount then page = redis.call('ZRANGE', book, '-', bound, 'BYLEX', 'LIMIT', '0', '8') end
    return fill_fast(page, side, price, amount, wallet, pays, filter_key, first, block, claim_field, terms)
  end
  return rest_fast(side, price, amount, wallet, client_id, pays, filter_key, first, block, claim_field, terms)
end
