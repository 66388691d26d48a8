#!lua flags=allow-oom
--[[
Publishes a market or replaces its record, if it still is the version that was read.

KEYS  1 engine  2 events  3 markets  4 assets  5 bids  6 asks  7 unsettled 0  8 unsettled 1
ARGV  1 epoch  2 symbol  3 number  4 version replaced (0 for a new market)
      5 new record as JSON, whose version is written here  6 base  7 base scale  8 quote  9 quote scale
      10 must the book be empty (0|1)
Replies  { set, sequence, version } | { stale, epoch|market } | { stale, scale } when an asset's scale is another one
         { refused, BOOK_NOT_EMPTY }
Events   market_changed; a new market's assets are written with their scales
]]
--- include engine_state
--- include emit
--- include market_rules

local keys = {
  engine = KEYS[1], events = KEYS[2], markets = KEYS[3], assets = KEYS[4], bids = KEYS[5], asks = KEYS[6],
  unsettled = { KEYS[7], KEYS[8] },
}
local market = { symbol = ARGV[2], number = ARGV[3], version = ARGV[4] }
local found = redis.call('HMGET', keys.engine, 'state', 'rules:' .. market.number)
local state, rules = decode_state(found[1]), found[2]

local function is_unused()
  return not rules and redis.call('HEXISTS', keys.markets, market.symbol) == 0
    and text(redis.call('HLEN', keys.markets)) == market.number
end

if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
local is_current
if market.version == '0' then
  is_current = is_unused()
else
  is_current = rules == rules_of(market.version, market.symbol)
end
if not is_current then return { 'stale', 'market' } end
for at = 6, 8, 2 do
  local scale = redis.call('HGET', keys.assets, ARGV[at])
  if scale and scale ~= ARGV[at + 1] then return { 'stale', 'scale' } end
end
if ARGV[10] == '1' and redis.call('EXISTS', keys.bids, keys.asks) > 0 then
  return { 'refused', 'BOOK_NOT_EMPTY' }
end

local time = event_time(state)
local version = next_version(state, rules, time)
local record = with_version(ARGV[5], version)
redis.call('HSET', keys.markets, market.symbol, record)
redis.call('HSET', keys.assets, ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[6] .. ' used', '1', ARGV[8] .. ' used', '1')
emit(keys, state, time, MARKET_CHANGED, record, '', { 'rules:' .. market.number, rules_of(text(version), market.symbol) })
return { 'set', text(state.sequence), text(version) }
