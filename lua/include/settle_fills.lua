-- What a resting order of the side that is met holds: base atoms of an ask, quote atoms of a bid.
local function held_by(order, market, member)
  local key, _, _, _, left = read_member(member)
  if order.side == 'buy' then return left * market.base_per_step end
  return left * price_key('buy', key) * market.quote_per_lot
end

-- The balance changes of a walk, per asset and field, and what the makers must have reserved for them.
local function plan_changes(order, market, walk)
  local base, quote = {}, {}
  local buys = order.side == 'buy'
  local pays, receives = buys and quote or base, buys and base or quote
  local needs = {}
  for _, one in ipairs(walk.fills) do
    local atoms = one.steps * market.base_per_step
    local given, taken = buys and atoms or one.notional, buys and one.notional or atoms
    add(needs, one.wallet .. 'r', given)
    add(receives, one.wallet .. 'r', -given)
    add(pays, one.wallet .. 'a', taken)
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
  for _, member in ipairs(walk.expired) do
    add(needs, order.wallet .. 'r', held_by(order, market, member))
  end
  return { base = base, quote = quote, maker_needs = needs,
    maker_asset = function(keys) return buys and keys.base or keys.quote end }
end

-- Takes the wallet's own orders that were met off the book; replies their closed records.
-- Together they may hold more than 2^53 atoms, so each is released by itself.
local function expire_own(keys, order, market, walk)
  local book, records = keys.book[other_side(order.side)], {}
  local asset = order.side == 'buy' and keys.base or keys.quote
  local prefix = book_prefix(order.market_number, other_side(order.side))
  for _, member in ipairs(walk.expired) do
    local live = live_record(keys, order.wallet, prefix .. string.sub(member, 1, 15))
    local _, _, _, had_fills = read_member(member)
    records[#records + 1] = closed_record(live, had_fills)
    redis.call('ZREM', book, member)
    redis.call('ZREM', keys.live, live)
    local held = held_by(order, market, member)
    redis.call('HINCRBY', asset, order.wallet .. 'r', text(0 - held))
    redis.call('HINCRBY', asset, order.wallet .. 'a', text(held))
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
