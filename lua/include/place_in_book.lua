-- Where an order stands. A side's ZSET has all scores 0, so members sort as bytes:
--   price key (7) | epoch (2) | sequence (6) | wallet (20) | remaining steps (7)      big-endian
-- 2^54 is added to the remaining steps once the order has had a fill: a cancel must tell, and does not know the size.
-- The price key of a bid is inverted, so the best order of either side, first come first, is member 0.
-- An order's reference is  market number * 2 + (1 for a sell) (2) | price key (7) | epoch (2) | sequence (6);
-- it is the public order id, and says which member of which book the order is.
local HIGHEST_KEY = 9007199254740991 -- 2^53 - 1
local MEMBER = '>I7c8c20I7'
local HAD_FILLS = 18014398509481984 -- 2^54

-- price key, stamp, wallet, remaining steps, whether it had fills
local function read_member(member)
  local key, stamp, wallet, left = struct.unpack(MEMBER, member)
  if left >= HAD_FILLS then return key, stamp, wallet, left - HAD_FILLS, true end
  return key, stamp, wallet, left, false
end

-- Price key <-> price in ticks, for the book of `side`; its own inverse.
local function price_key(side, price_or_key)
  if side == 'buy' then return HIGHEST_KEY - price_or_key end
  return price_or_key
end

local function other_side(side)
  if side == 'buy' then return 'sell' end
  return 'buy'
end

-- The first two bytes of every reference of a market's side.
local function book_prefix(market_number, side)
  return struct.pack('>I2', market_number * 2 + (side == 'sell' and 1 or 0))
end
