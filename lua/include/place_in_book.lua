-- An order's place in its book. A side's ZSET has all scores 0, so members sort as bytes:
--   price key (7) | epoch (2) | sequence (6) | wallet (20) | 1 once it had fills, else 0 (1) | remaining steps (7)
-- big-endian. Whether it had fills is told at a cancel, which does not know the size.
-- The price key of a bid is inverted, so the best order of either side, first come first, is member 0.
-- An order's reference is  market number * 2 + side (2) | price key (7) | epoch (2) | sequence (6);
-- it is the public order id, and says which member of which book the order is.
--- define HIGHEST_KEY 9007199254740991 (2^53 - 1)
--- define BUY 0
--- define SELL 1

-- Price key <-> price in ticks, for the book of `side`; its own inverse.
local function price_key(side, price_or_key)
  if side == BUY then return HIGHEST_KEY - price_or_key end
  return price_or_key
end

-- The first two bytes of every reference of a market's side.
local function book_prefix(market_number, side)
  return struct.pack('>I2', market_number * 2 + side)
end
