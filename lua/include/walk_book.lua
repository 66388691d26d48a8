-- Walks the opposite side best first and plans the fills (see write_fills); writes nothing. Besides the fills:
--   own_count  number of own members that self-trade prevention takes off the book; only so many items of `own` count
--   crosses    true when any order stands at a crossing price, the wallet's own orders included
--   ended      'book' (no more crossing orders) | 'size' | 'own_order' | 'makers' | 'budget'
--              | 'refused' (the outcome is known, and more makers cannot change it)
--   funds      atoms that the wallet can pay with; infinite from 2^53 on
--   short      true when the fills cost more than that
--   inexact    true when a running total would pass 2^53, so that the order must be refused
--- define FIRST_PAGE 8
--- define MAX_PAGE 256

local function crossing_bound(order)
  if order.kind ~= LIMIT_ORDER then return '+' end
  return '(' .. struct.pack(KEY_FORMAT, price_key(1 - order.side, order.price) + 1)
end

-- Returns the number of whole steps that the rest of a budget pays for at `price`.
local function steps_affordable(order, price)
  local each, room = price * quote_per_lot, order.budget - walk.notional_sum
  local steps = math.floor(room / each)
  if steps * each > room then return steps - 1 end -- the division may have rounded up
  return steps
end

-- Returns the number of steps that the order takes of a maker's `left` at `price`.
local function steps_taken(order, price, left)
  if order.size then return math.min(left, order.size - walk.filled) end
  local steps = steps_affordable(order, price)
  if steps < left then walk.out_of_budget = true end
  return math.min(left, steps)
end

-- Returns true when a budget that has paid for fills has too little left for one step at `price`. An own ask there is
-- not met, and stays.
local function is_out_of_reach(order, price)
  return order.budget and walk.filled > 0 and steps_affordable(order, price) == 0
end

local function meet_own_order(member)
  if self_trade ~= EXPIRE_TAKER then
    walk.own_count = walk.own_count + 1
    walk.own[walk.own_count] = member
  end
  if self_trade ~= EXPIRE_MAKER then walk.ended = 'own_order' end
end

-- Returns true when the fills cost more than the wallet has. A size that is not known yet must reach the minimum first,
-- because that refusal has precedence.
local function is_short(order)
  if order.budget and walk.filled < min_steps then return false end
  return (order.side == BUY and walk.notional_sum + walk.fee_sum or walk.filled * base_per_step) > walk.funds
end

local function fill(order, member, price, wallet, left)
  local steps = steps_taken(order, price, left)
  if steps > 0 then add_fill(member, wallet, price, steps, left - steps) end
  if order.budget and walk.filled > max_steps then
    walk.ended = 'refused'
  elseif walk.notional_sum + walk.fee_sum >= EXACT_LIMIT or walk.filled * base_per_step >= EXACT_LIMIT then
    walk.inexact, walk.ended = true, 'refused'
  elseif is_short(order) then
    walk.short, walk.ended = true, 'refused'
  elseif order.size and walk.filled == order.size then
    walk.ended = 'size'
  elseif walk.out_of_budget then
    walk.ended = 'budget'
    -- A budget of 2^53 stands for any larger one, which would have paid for more.
    walk.inexact = order.budget == EXACT_LIMIT
  end
end

local function meet(order, member)
  local key, wallet, left = struct.unpack(MEMBER_FORMAT, member)
  local price = price_key(1 - order.side, key)
  if wallet ~= order.wallet then
    fill(order, member, price, wallet, left)
  elseif is_out_of_reach(order, price) then
    walk.ended = 'budget'
  else
    meet_own_order(member)
  end
end

-- `funds`: see above.
local function walk_book(order, book, funds)
  clear_walk()
  makers_met, walk.own_count, walk.own = 0, 0, walk.own or {}
  walk.crosses, walk.out_of_budget, walk.ended, walk.inexact = false, false, nil, false
  walk.funds, walk.short = funds, false
  -- One crossing order decides about an order that may not take.
  local only_rests = order.post_only or pre_open == 1
  -- The order that is replaced counts as gone.
  local old = order.old and order.old.member
  local from, bound, page_size = '-', crossing_bound(order), only_rests and (old and 2 or 1) or FIRST_PAGE
  repeat
    local page = redis.call('ZRANGE', book, from, bound, 'BYLEX', 'LIMIT', '0', text(page_size))
    local found = #page
    for index = 1, found do
      if page[index] ~= old then
        walk.crosses = true
        if not walk.ended and makers_met == max_makers then walk.ended = 'makers' end
        if walk.ended or only_rests then break end
        makers_met = makers_met + 1
        meet(order, page[index])
      end
    end
    if found < page_size or only_rests then walk.ended = walk.ended or 'book' end
    if not walk.ended then
      -- One order beyond the limit of makers tells if the order would meet more.
      from, page_size = '(' .. page[found], math.min(page_size * 4, MAX_PAGE, max_makers - makers_met + 1)
    end
  until walk.ended
end
