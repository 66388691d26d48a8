--- include market_rules
-- The part of the precedence of refusals that only the engine knows. Replies what ends the command, or nil.
-- `market`: number, symbol and version of the rules the replica used; nil when it knows no such market.
-- `restricted`: '1' when the caller's country is blocked; the replica knows, its place in the order is here.
local function admit(keys, state, epoch, market, claim, time, restricted)
  if state.epoch ~= epoch then return { 'stale', 'epoch' } end
  local ended = claim and find_claim(keys, state.filter, claim, time)
  if ended then return ended end
  if state.paused then return { 'refused', 'OPERATIONAL_PAUSED' } end
  if restricted == '1' then return { 'refused', 'RESTRICTED_JURISDICTION' } end
  if state.terms and state.terms ~= state.accepted_terms then return { 'refused', 'STALE_TERMS_VERSION' } end
  if state.held then return { 'refused', 'CUSTODY_HOLD' } end
  if market and not are_in_force(keys.markets, market, state.version, state.symbol) then
    return { 'stale', 'market' }
  end
  return nil
end
