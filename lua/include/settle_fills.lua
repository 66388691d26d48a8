-- What a resting order of the side that is met holds: base atoms of an ask, quote atoms of a bid.
local function held_by(order, market, member)
  local key, _, _, _, left = read_member(member)
  if order.side == 'buy' then return left * market.base_per_step end
  return left * price_key('buy', key) * market.quote_per_lot
end

-- The own orders that a walk met: { live, member, key, had_fills, left, held } each; nil when one is not listed as live.
local function find_expired(keys, order, market, walk)
  local prefix, expired = book_prefix(order.market_number, other_side(order.side)), {}
  for index, member in ipairs(walk.expired) do
    local live = live_record(keys, order.wallet, prefix .. string.sub(member, 1, 15))
    if not live then return nil end
    local _, _, _, had_fills, left = read_member(member)
    expired[index] = { live = live, member = member, key = string.sub(member, 1, 7), had_fills = had_fills,
      left = left, held = held_by(order, market, member) }
  end
  return expired
end

-- What a walk changes: balances per asset and field, sizes per level, and what the makers must have reserved for it.
local function plan_changes(keys, order, market, walk)
  local base, quote, levels, needs = {}, {}, {}, {}
  local buys = order.side == 'buy'
  local pays, receives = buys and quote or base, buys and base or quote
  for _, one in ipairs(walk.fills) do
    local atoms = one.steps * market.base_per_step
    local given, taken = buys and atoms or one.notional, buys and one.notional or atoms
    add(needs, one.wallet .. 'r', given)
    add(receives, one.wallet .. 'r', -given)
    add(pays, one.wallet .. 'a', taken)
    add(levels, string.sub(one.member, 1, 7), -one.steps)
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
  local expired, own_needs = find_expired(keys, order, market, walk), {}
  for _, one in ipairs(expired or {}) do add_exactly(own_needs, order.wallet .. 'r', one.held) end
  return { base = base, quote = quote, levels = levels, expired = expired, maker_needs = needs,
    own_needs = own_needs, maker_asset = buys and keys.base or keys.quote }
end

-- Whether the makers have reserved what a walk takes from them, and the wallet what its expired orders held.
local function can_settle(changes)
  return changes.expired and covers(changes.maker_asset, changes.maker_needs)
    and covers_exactly(changes.maker_asset, changes.own_needs)
end

-- Takes the wallet's own orders that were met off the book; replies their closed records.
-- Together they may hold more than 2^53 atoms, so each is released by itself.
local function expire_own(keys, order, changes)
  local side, records = other_side(order.side), {}
  for index, one in ipairs(changes.expired) do
    records[index] = closed_record(one.live, one.had_fills)
    redis.call('ZREM', keys.book[side], one.member)
    redis.call('ZREM', keys.live, one.live)
    redis.call('HINCRBY', changes.maker_asset, order.wallet .. 'r', text(0 - one.held))
    redis.call('HINCRBY', changes.maker_asset, order.wallet .. 'a', text(one.held))
    write_levels(keys.levels[side], { [one.key] = -one.left })
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
