--- include order_formats
-- An order's place in its book. A side's ZSET has all scores 0, so members sort as bytes:
--   price key (7) | epoch (2) | sequence (6) | wallet (20) | remaining steps (7)
-- big-endian. The record of a live order has its size (see closed_record.lua). The price key of a bid is inverted, so the
-- best order of either side, first come first, is member 0.
-- An order's reference is  market number * 2 + side (2) | price key (7) | epoch (2) | sequence (6);
-- it is the public order id, and names the order's book and the first bytes of its member.
--- define MAX_KEY 9007199254740991 (2^53 - 1)
--- define BUY 0
--- define SELL 1

-- Returns the price key of a price in ticks, and the price of a price key, for the book of `side`.
local function price_key(side, price_or_key)
  if side == BUY then return MAX_KEY - price_or_key end
  return price_or_key
end

-- Returns the first two bytes of every reference of a market's side.
local function book_prefix(market_number, side) return struct.pack(BOOK_FORMAT, market_number * 2 + side) end
