--- include market_rules
-- Halts a market whose match could not be paid; an operator resumes it after a reconcile.
local function halt_market(keys, state, time, market_number, symbol)
  local version = next_version(state, time)
  -- The record is JSON of our own making, so `status` stands in it exactly once.
  local record = string.gsub(redis.call('HGET', keys.markets, symbol), '"status":"[%a_]+"', '"status":"halted"', 1)
  record = with_version(record, version)
  redis.call('HSET', keys.markets, symbol, record)
  emit(keys, state, time, { 'kind', 'market_changed', 'market', record }, {},
    fields_of_rules(market_number, symbol, version))
end
