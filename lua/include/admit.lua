-- Checks the refusals that only the engine knows, in their order of precedence. Returns 'refused' or 'stale' and a
-- code, or nothing. `held`, `accepted_terms`: hold and accepted terms of the wallet. `restricted`: true when the
-- caller's country is blocked; the replica knows this, and it is checked here because of the precedence. `rules`: the
-- rules that the replica used, false or nil when it knows no such market. `in_force`: the rules of the engine.
local function admit(paused, required_terms, held, accepted_terms, restricted, rules, in_force)
  if paused then return 'refused', 'OPERATIONAL_PAUSED' end
  if restricted then return 'refused', 'RESTRICTED_JURISDICTION' end
  if required_terms and required_terms ~= accepted_terms then return 'refused', 'STALE_TERMS_VERSION' end
  if held then return 'refused', 'CUSTODY_HOLD' end
  if rules and rules ~= in_force then return 'stale', 'market' end
end
