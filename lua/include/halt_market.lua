--- include market_rules
-- Halts a market whose match could not be paid; an operator resumes it after a reconcile. Returns the new rules.
local function halt_market(keys, state, record, rules, time, number, symbol)
  local version = next_version(state, rules, time)
  -- Redbook wrote the record as JSON, so `status` stands in it exactly once.
  local halted_record = with_version((string.gsub(record, '"status":"[%a_]+"', '"status":"halted"', 1)), version)
  local halted = rules_of(text(version), symbol)
  emit(keys, state, time, MARKET_CHANGED, halted_record, '', { 'rules:' .. number, halted })
  redis.call('HSET', keys.markets, symbol, halted_record)
  return halted
end
