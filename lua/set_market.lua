#!lua flags=allow-oom
--[[
Publishes a market or replaces its record, if it still is the version that was read.

KEYS  1 engine  2 events  3 markets  4 assets  5 bids  6 asks  7 unsettled 0  8 unsettled 1
ARGV  1 epoch  2 symbol  3 number  4 version replaced (0 for a new market)  5 new version
      6 new record as JSON  7 base  8 base scale  9 quote  10 quote scale  11 must the book be empty (0|1)
Replies  { set, sequence } | { stale, epoch|market } | { stale, scale } when an asset's scale is another one
         { refused, BOOK_NOT_EMPTY }
Events   market_changed; a new market's assets are written with their scales
]]
--- include engine_state
--- include emit

local keys = {
  engine = KEYS[1], events = KEYS[2], markets = KEYS[3], assets = KEYS[4], bids = KEYS[5], asks = KEYS[6],
  unsettled = { KEYS[7], KEYS[8] },
}
local symbol, number, version = ARGV[2], ARGV[3], ARGV[4]
local state = read_state(keys.engine, number, '')
if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
if (state.version or '0') ~= version then return { 'stale', 'market' } end
if version == '0' and (redis.call('HEXISTS', keys.markets, symbol) == 1
    or text(redis.call('HLEN', keys.markets)) ~= number) then
  return { 'stale', 'market' }
end
for at = 7, 9, 2 do
  local scale = redis.call('HGET', keys.assets, ARGV[at])
  if scale and scale ~= ARGV[at + 1] then return { 'stale', 'scale' } end
end
if ARGV[11] == '1' and redis.call('EXISTS', keys.bids, keys.asks) > 0 then
  return { 'refused', 'BOOK_NOT_EMPTY' }
end

redis.call('HSET', keys.markets, symbol, ARGV[6])
redis.call('HSET', keys.assets, ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[7] .. ' used', '1', ARGV[9] .. ' used', '1')
emit(keys, state, event_time(state), { 'kind', 'market_changed', 'market', ARGV[6] }, {},
  { 'version:' .. number, ARGV[5] })
return { 'set', text(state.sequence) }
