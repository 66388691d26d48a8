-- Halts a market whose match could not be paid; an operator resumes it after a reconcile.
-- The record is JSON of our own making, so `status` and `version` stand in it exactly once.
local function halt_market(keys, state, time, market_number, symbol)
  local version = tonumber(state.version) + 1
  local record = redis.call('HGET', keys.markets, symbol)
  record = string.gsub(record, '"status":"[%a_]+"', '"status":"halted"', 1)
  record = string.gsub(record, '"version":%d+', '"version":' .. text(version), 1)
  redis.call('HSET', keys.markets, symbol, record)
  emit(keys, state, time, { 'kind', 'market_changed', 'market', record }, {},
    { 'version:' .. market_number, text(version) })
end
