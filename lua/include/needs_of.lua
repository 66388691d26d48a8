-- Returns the atoms that the order needs of the asset it pays with: exactly its fills and its remainder, fee included.
-- An order that the engine rejects is checked as the documentation says: a post-only order as if it would rest, an
-- unfillable limit FOK whole at its limit price, a market FOK for the part that it could fill.
local function needs_of(order, reject_reason, rest_steps)
  local whole_at_limit = reject_reason == POST_ONLY_WOULD_CROSS
    or (reject_reason == FOK_NOT_FILLED and order.kind == LIMIT_ORDER)
  if order.side == SELL then return (whole_at_limit and order.size or walk.filled + rest_steps) * base_per_step end
  if whole_at_limit then
    local notional = order.size * order.price * quote_per_lot
    return notional + (reject_reason == FOK_NOT_FILLED and fee_of(notional, fee_bps) or 0)
  end
  local rest = rest_steps > 0 and rest_steps * order.price * quote_per_lot or 0
  return walk.notional_sum + walk.fee_sum + rest
end
