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
