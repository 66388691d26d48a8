#!lua flags=no-writes
--[[
Reads the best levels of both sides of a market at one moment. It jumps from price to price, so it costs the same
however many orders stand at each.

KEYS  engine, bids, asks, bid_levels, ask_levels
ARGV  max              maximum levels of a side
      market_number
      symbol
      market_version
Replies  { book, sequence, time, { price key (7), steps, … } of the bids, the same of the asks }, best first
         { stale, market } when these are not the market's rules
]]
--- include engine_state
--- include market_rules
--- include prefix_range

local found = redis.call('HMGET', KEYS.engine, 'state', 'rules:' .. ARGV.market_number)
if found[2] ~= rules_of(ARGV.market_version, ARGV.symbol) then return { 'stale', 'market' } end

local max = tonumber(ARGV.max)

local function read_side(book, levels)
  local keys, from = {}, '-'
  while #keys < max do
    local member = redis.call('ZRANGE', book, from, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    if not member then break end
    local key = string.sub(member, 1, 7)
    keys[#keys + 1] = key
    from = '(' .. key .. PREFIX_END -- behind every epoch that can be
  end
  if #keys == 0 then return {} end
  local sums, side = redis.call('HMGET', levels, unpack(keys)), {}
  for index, key in ipairs(keys) do
    side[index * 2 - 1], side[index * 2] = key, sums[index]
  end
  return side
end

local state = decode_state(found[1])
return {
  'book',
  text(state.sequence),
  text(state.time),
  read_side(KEYS.bids, KEYS.bid_levels),
  read_side(KEYS.asks, KEYS.ask_levels),
}
