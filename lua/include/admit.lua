-- The part of the precedence of refusals that only the engine knows. Returns what ends the command, or nothing.
-- `held`, `accepted_terms`: of the wallet. `restricted`: true when the caller's country is blocked; the replica knows, its
-- place in the order is here. `rules`: those that the replica used; nil when it knows no such market. `in_force`: those
-- of the engine.
local function admit(paused, required_terms, held, accepted_terms, restricted, rules, in_force)
  if paused then return 'refused', 'OPERATIONAL_PAUSED' end
  if restricted then return 'refused', 'RESTRICTED_JURISDICTION' end
  if required_terms and required_terms ~= accepted_terms then return 'refused', 'STALE_TERMS_VERSION' end
  if held then return 'refused', 'CUSTODY_HOLD' end
  if rules and rules ~= in_force then return 'stale', 'market' end
end
