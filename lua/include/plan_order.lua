-- Decides about one order and checks everything that its writes need; writes nothing. plan_order returns the code and
-- the value of the outcome that ends the order, or nil when commit_order may write it. Its phases:
--   admit_order       the claim, the switches and the rules
--   release_replaced  what the order that this one replaces holds, as if it had left the book
--   price_order       the fills, the remainder, and the refusals that follow from the book and the wallet's funds
--   read_amounts      the balances and levels that the writes change
--   check_means       the wallet can pay, and may have one more live order
--   check_settlement  the makers can pay; otherwise the order is rejected and the market halts

-- Returns the code and the value of the outcome that the claim, the switches or the rules decide, or nil.
local function admit_order(order)
  local claim, wallet = order.claim, order.wallet
  if claim then
    if layout ~= filter_in_force then return STALE, 'filter' end
    local known = claimed[claim.field]
    if known then return CLAIMED, known end
    local ended, block =
      find_claim(claim.filter, claim.first, claim.last, claim.mask, claim.field, claim.checked_at, state.time)
    if ended then return ended == 'claimed' and CLAIMED or UNCHECKED, block end
    claim.block = block
  end
  local ended, code =
    admit(paused, required_terms, held[wallet], accepted_terms[wallet], order.restricted, rules, rules_in_force)
  if ended then return ended == 'stale' and STALE or REFUSED, code end
  if is_late(order.expires_after) then return REFUSED, 'DEADLINE_PASSED' end
end

-- Returns a true value when the market has a last price, a reference price or an order on its book, to value a size by.
-- The order that is replaced does not count.
local function has_mark(order)
  if last_price or has_reference == 1 then return true end
  if not order.old then return redis.call('EXISTS', keys.book[BUY], keys.book[SELL]) > 0 end
  local bids, asks = keys.book[BUY], keys.book[SELL]
  return redis.call('ZLEXCOUNT', bids, '-', '+') + redis.call('ZLEXCOUNT', asks, '-', '+') > 1
end

-- Returns the code of the refusal that the walk ends in, or nil. Sets the size of an order for a budget.
local function refusal_of(order)
  if walk.short then return 'INSUFFICIENT_BALANCE' end
  if order.size and walk.inexact then return 'ORDER_ABOVE_MAX_SIZE' end
  if pre_open == 1 and walk.crosses then return 'MARKET_PRE_OPEN' end
  if order.kind == MARKET_FOR_SIZE and not has_mark(order) then return 'NO_REFERENCE_PRICE' end
  if order.budget then
    local filled = walk.filled
    if filled == 0 and not walk.out_of_budget then return 'NO_LIQUIDITY' end
    if filled == 0 then return 'QUOTE_AMOUNT_TOO_SMALL' end
    if filled < min_steps then return 'ORDER_BELOW_MIN_SIZE' end
    if filled > max_steps then return 'ORDER_ABOVE_MAX_SIZE' end
    if walk.inexact then return 'ORDER_ABOVE_MAX_SIZE' end
    order.size = filled
  end
end

-- Returns the record of a live order, from this call or from the set of live orders, or nil.
local function live_member(prefix) return live_added[prefix] or live_record(keys.live, prefix) end

-- Sets `order.own`, the wallet's own orders that self-trade prevention takes off the book. Returns false when one of
-- them is not listed as live, or when the wallet has reserved less than they hold.
local function plan_own(order, maker_side, receives)
  if walk.own_count == 0 then return true end
  local sum, wallet = { 0, 0 }, order.wallet
  order.own = {}
  for index = 1, walk.own_count do
    local member = walk.own[index]
    local live = live_member(wallet .. prefixes[maker_side] .. string.sub(member, 1, 15))
    if not live then return false end
    local key, _, left = struct.unpack(MEMBER_FORMAT, member)
    local held = held_atoms(maker_side, price_key(maker_side, key), left)
    add_exactly(sum, held)
    order.own[index] = { live = live, member = member, left = left, filled = filled_of(live, left), held = held }
  end
  return holds_sum(receives, wallet .. RESERVED, sum)
end

-- Returns true when the makers have reserved what the walk takes from them.
local function makers_can_pay(maker_side, receives)
  local needs = {}
  for index = 1, walk.fills do
    local field = walk.wallet[index] .. RESERVED
    local given = maker_side == SELL and walk.steps[index] * base_per_step or walk.notional[index]
    needs[field] = (needs[field] or 0) + given
  end
  for field, need in pairs(needs) do
    if not holds(receives, field, need) then return false end
  end
  return true
end

-- Asks for the amounts that the fills and the own orders change. Returns them, as amounts and fields alternating, for
-- check_amounts.
local function ask_for_match(order, pays, receives, sizes)
  local changes, count = {}, 0
  local function change(amounts, field)
    ask(amounts, field)
    changes[count + 1], changes[count + 2] = amounts, field
    count = count + 2
  end
  for index = 1, walk.fills do
    change(receives, walk.wallet[index] .. RESERVED)
    change(pays, walk.wallet[index] .. AVAILABLE)
    change(sizes, string.sub(walk.member[index], 1, 7))
  end
  change(receives, order.wallet .. AVAILABLE)
  if walk.fee_sum > 0 then change(quote, HOUSE) end
  if walk.own_count > 0 then change(receives, order.wallet .. RESERVED) end
  for index = 1, walk.own_count do
    change(sizes, string.sub(walk.own[index], 1, 7))
  end
  return changes
end

local function check_amounts(changes)
  for index = 1, #changes, 2 do
    check_amount(changes[index], changes[index + 1])
  end
end

-- Sets the order's `reason`, `remaining` and `rests` from the result of the walk.
local function conclude(order)
  order.remaining, order.reason, order.rests = order.size - walk.filled, 0, false
  if order.post_only and walk.crosses then
    order.reason = POST_ONLY_WOULD_CROSS
  elseif order.time_in_force == FOK and order.remaining > 0 then
    order.reason = FOK_NOT_FILLED
  else
    order.rests = order.remaining > 0
      and order.kind == LIMIT_ORDER
      and order.time_in_force == GTC
      and walk.ended == 'book'
  end
end

-- Returns the code of the refusal of an order that the wallet cannot pay, or that is one live order too many; or nil.
local function check_means(order, pays)
  local need = needs_of(order, order.reason, order.rests and order.remaining or 0)
  -- The fee of each fill is rounded up, so many small fills may need more than the replica computed for the whole order
  -- at its limit price.
  if need >= EXACT_LIMIT then return 'ORDER_ABOVE_MAX_SIZE' end
  if not holds(pays, order.wallet .. AVAILABLE, need) then return 'INSUFFICIENT_BALANCE' end
  if order.rests then
    -- One that replaces another takes its place.
    if count_live(order.wallet) >= max_live and not order.old then return 'TOO_MANY_LIVE' end
    check_amount(pays, order.wallet .. RESERVED)
    check_amount(levels[order.side], order.key)
  end
end

-- Price: walks the book and concludes what becomes of the order. Returns the code of a refusal, or nil. The walk knows
-- the wallet's funds, because a wallet without funds could otherwise keep the engine busy with walks in vain.
local function price_order(order, pays)
  local available = order.wallet .. AVAILABLE
  ask(pays, available)
  read_asked(pays)
  walk_book(order, keys.book[1 - order.side], exact_or_huge(pays, available))
  local code = refusal_of(order)
  if code then return code end
  conclude(order)
  order.key = struct.pack(KEY_FORMAT, order.price and price_key(order.side, order.price) or 0)
end

-- Reads the amounts that the order changes. Returns those of a match, for check_amounts; false when nothing matches.
local function read_amounts(order, pays, receives)
  local own_levels, maker_levels = levels[order.side], levels[1 - order.side]
  if order.rests then
    ask(pays, order.wallet .. RESERVED)
    ask(own_levels, order.key)
  end
  local matches = order.reason == 0 and walk.fills + walk.own_count > 0
  local changes = matches and ask_for_match(order, pays, receives, maker_levels)
  read_asked(pays)
  if matches then
    read_asked(receives)
    read_asked(maker_levels)
  end
  if order.rests then read_asked(own_levels) end
  return changes
end

-- Rejects the order when a maker, or the wallet's own orders, cannot pay what the match takes from them.
local function check_settlement(order, receives)
  local maker_side = 1 - order.side
  if makers_can_pay(maker_side, receives) and plan_own(order, maker_side, receives) then return end
  order.reason, order.rests = SETTLEMENT_FAILED, false
  order.market_record = redis.call('HGET', keys.markets, symbol)
  if not order.market_record then error('the market has no record', 0) end
end

-- Finds the live order that an order replaces, as `order.old`. Returns the code of a refusal: the wallet has no such order,
-- or the order has filled another amount than the caller believes.
local function find_replaced(order)
  local reference, believed = string.sub(order.replaces, 1, 17), string.sub(order.replaces, 18)
  local side, place = string.byte(reference, 2) % 2, string.sub(reference, 3)
  if string.sub(reference, 1, 2) ~= prefixes[side] then return 'ORDER_NOT_FOUND' end
  local member = redis.call('ZRANGE', keys.book[side], '[' .. place, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
  if not member or string.sub(member, 1, 15) ~= place then return 'ORDER_NOT_FOUND' end
  local key, owner, left = struct.unpack(MEMBER_FORMAT, member)
  if owner ~= order.wallet then return 'ORDER_NOT_FOUND' end
  local live = live_member(owner .. reference)
  if not live then error('the order that is replaced has no live record', 0) end
  local filled = filled_of(live, left)
  if believed ~= '' and struct.unpack(STEPS_FORMAT, believed) ~= filled then return 'FILLED_OTHERWISE' end
  order.old = {
    side = side,
    member = member,
    wallet = owner,
    left = left,
    filled = filled,
    live = live,
    held = held_atoms(side, price_key(side, key), left),
    level = string.sub(member, 1, 7),
  }
end

-- Moves what the replaced order holds to its wallet's available funds, or back. Its amounts were read.
local function release_replaced(order, sign)
  local old, wallet = order.old, order.old.wallet
  local holds_in = old.side == BUY and quote or base
  add_to(holds_in, wallet .. RESERVED, -sign * old.held)
  add_to(holds_in, wallet .. AVAILABLE, sign * old.held)
  add_to(levels[old.side], old.level, -sign * old.left)
end

-- Reads and checks what taking the replaced order off the book changes. Fails when a reservation is missing.
local function check_replaced(order)
  local old, wallet = order.old, order.old.wallet
  local holds_in, sum = old.side == BUY and quote or base, { 0, 0 }
  ask(holds_in, wallet .. RESERVED)
  ask(holds_in, wallet .. AVAILABLE)
  ask(levels[old.side], old.level)
  read_asked(holds_in)
  read_asked(levels[old.side])
  check_amount(holds_in, wallet .. AVAILABLE)
  check_amount(levels[old.side], old.level)
  add_exactly(sum, old.held)
  if not holds_sum(holds_in, wallet .. RESERVED, sum) then
    error('a reservation is missing: reconcile the ledger', 0)
  end
end

local function plan_match(order)
  local pays, receives = quote, base
  if order.side == SELL then
    pays, receives = base, quote
  end
  local code = price_order(order, pays)
  if code then return REFUSED, code end
  local changes = read_amounts(order, pays, receives)
  code = check_means(order, pays)
  if code then return REFUSED, code end
  if changes then
    check_amounts(changes)
    check_settlement(order, receives)
  end
end

-- Plans an order. One that replaces another is planned as if that one had left the book, which stays when the order is
-- refused, rejected or fails.
local function plan_order(order)
  local ended, value = admit_order(order)
  if ended then return ended, value end
  if order.replaces == '' then return plan_match(order) end
  local code = find_replaced(order)
  if code then return REFUSED, code end
  check_replaced(order)
  release_replaced(order, 1)
  local done
  done, ended, value = pcall(plan_match, order)
  if not done or ended or order.reason ~= 0 then release_replaced(order, -1) end
  if not done then error(ended, 0) end
  return ended, value
end
