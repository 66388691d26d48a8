-- Taker fee in quote atoms: ceil(notional * bps / 10000), exact for every notional below 2^53.
-- notional * bps would pass 2^53; the quotient is split off first. Should the division round up,
-- the remainder is negative and the sum is still right.
local function fee_of(notional, bps)
  local whole = math.floor(notional / 10000)
  return whole * bps + math.ceil((notional - whole * 10000) * bps / 10000)
end
