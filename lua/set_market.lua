#!lua flags=allow-oom
--[[
Publishes a market or replaces its record, if the market still has the version that was read.

KEYS  engine, events, markets, assets, bids, asks, unsettled_0, unsettled_1
ARGV  epoch, symbol, number
      version         the version that is replaced, 0 for a new market
      record          new record as JSON, whose version is written here
      base, base_scale, quote, quote_scale
      must_be_empty   1 when the book must be empty, else 0
      act             act of an operator as JSON; '' for none
Replies  { set, version } | { stale, epoch|market } | { stale, scale } when an asset's scale is another one
         { refused, BOOK_NOT_EMPTY }
Events   market_changed; a new market's assets are written with their scales
]]
--- include engine_state
--- include emit
--- include market_rules
--- include act

local keys = {
  engine = KEYS.engine,
  events = KEYS.events,
  markets = KEYS.markets,
  assets = KEYS.assets,
  bids = KEYS.bids,
  asks = KEYS.asks,
  unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 },
}
local market = { symbol = ARGV.symbol, number = ARGV.number, version = ARGV.version }
local found = redis.call('HMGET', keys.engine, 'state', 'rules:' .. market.number)
local state, rules = decode_state(found[1]), found[2]

local function is_unused()
  return not rules
    and redis.call('HEXISTS', keys.markets, market.symbol) == 0
    and text(redis.call('HLEN', keys.markets)) == market.number
end

if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
local is_current
if market.version == '0' then
  is_current = is_unused()
else
  is_current = rules == rules_of(market.version, market.symbol)
end
if not is_current then return { 'stale', 'market' } end
local scales = redis.call('HMGET', keys.assets, ARGV.base, ARGV.quote)
if scales[1] and scales[1] ~= ARGV.base_scale or scales[2] and scales[2] ~= ARGV.quote_scale then
  return { 'stale', 'scale' }
end
if ARGV.must_be_empty == '1' and redis.call('EXISTS', keys.bids, keys.asks) > 0 then
  return { 'refused', 'BOOK_NOT_EMPTY' }
end

local time = event_time(state)
local version = next_version(state, rules, time)
local record = with_version(ARGV.record, version)
local body = with_act(record, ARGV.act, redis.call('HGET', keys.markets, market.symbol))
emit(keys, state, time, MARKET_CHANGED, body, '', { 'rules:' .. market.number, rules_of(text(version), market.symbol) })
redis.call('HSET', keys.markets, market.symbol, record)
redis.call(
  'HSET',
  keys.assets,
  ARGV.base,
  ARGV.base_scale,
  ARGV.quote,
  ARGV.quote_scale,
  ARGV.base .. ' used',
  '1',
  ARGV.quote .. ' used',
  '1'
)
return { 'set', text(version) }
