#!lua flags=no-writes
--[[
The best levels of both sides of a market at one moment. It jumps from price to price, so it costs the same however
many orders stand at each.

KEYS  1 engine  2 bids  3 asks  4 levels of the bids  5 levels of the asks
ARGV  1 most levels a side  2 market number  3 symbol  4 market version
Replies  { book, sequence, time, { price key (7), steps, … } of the bids, the same of the asks }, best first
         { stale, market } when these are not the market's rules
]]
--- include engine_state
--- include market_rules

local found = redis.call('HMGET', KEYS[1], 'state', 'rules:' .. ARGV[2])
if found[2] ~= rules_of(ARGV[4], ARGV[3]) then return { 'stale', 'market' } end

local most = tonumber(ARGV[1])

local function read_side(book, levels)
  local keys, from = {}, '-'
  while #keys < most do
    local member = redis.call('ZRANGE', book, from, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    if not member then break end
    local key = string.sub(member, 1, 7)
    keys[#keys + 1] = key
    from = '(' .. key .. '\255' -- behind every epoch that can be
  end
  if #keys == 0 then return {} end
  local sums, side = redis.call('HMGET', levels, unpack(keys)), {}
  for index, key in ipairs(keys) do
    side[index * 2 - 1], side[index * 2] = key, sums[index]
  end
  return side
end

local state = decode_state(found[1])
return { 'book', text(state.sequence), text(state.time), read_side(KEYS[2], KEYS[4]), read_side(KEYS[3], KEYS[5]) }
