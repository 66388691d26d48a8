-- Puts the remainder on the book, reserves it, and lists the order among its wallet's live ones.
local function rest(keys, order, market, remaining, changes)
  local buys = order.side == 'buy'
  local held = remaining * (buys and order.price * market.quote_per_lot or market.base_per_step)
  local asset = buys and changes.quote or changes.base
  add(asset, order.wallet .. 'a', -held)
  add(asset, order.wallet .. 'r', held)
  redis.call('ZADD', keys.book[order.side], '0',
    order.key .. order.stamp .. order.wallet .. remainder(remaining < order.size and 1 or 0, remaining))
  write_levels(keys.levels[order.side], { [order.key] = remaining })
  redis.call('ZADD', keys.live, '0', order.wallet .. order.reference .. order.client_id)
end
