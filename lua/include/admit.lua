-- The part of the precedence of refusals that only the engine knows. Returns what ends the command, or nil.
-- `state`: paused, terms; `wallet_state`: held, terms accepted by the wallet.
-- `rules`: those that the replica used; nil when it knows no such market. `in_force`: those of the engine.
-- `restricted`: true when the caller's country is blocked; the replica knows, its place in the order is here.
local function admit(switches, held, accepted_terms, restricted, rules, in_force)
  if switches.paused then return 'refused', 'OPERATIONAL_PAUSED' end
  if restricted then return 'refused', 'RESTRICTED_JURISDICTION' end
  if switches.terms and switches.terms ~= accepted_terms then return 'refused', 'STALE_TERMS_VERSION' end
  if held then return 'refused', 'CUSTODY_HOLD' end
  if rules and rules ~= in_force then return 'stale', 'market' end
end
