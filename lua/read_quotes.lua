#!lua flags=no-writes
--[[
Reads the best prices and the last executions of markets at one moment.

KEYS  engine
      books...   the bids and the asks of each market in turn
ARGV  rules...   number, symbol and version of each market in turn
Replies  { quotes, best bid, best ask, last price, … }, three for each market in turn: price keys (7 bytes), and the
         last price in ticks, each of them nil where there is none
         { stale, market } when one of them has other rules by now
]]
--- include market_rules
local MARKETS_TOGETHER = 1000 -- unpack fails at 8,000

local function read_fields(from, to)
  local fields = {}
  for index = from, to do
    local number = ARGV[index * 3 - 2]
    fields[#fields + 1] = 'rules:' .. number
    fields[#fields + 1] = 'last:' .. number
  end
  return redis.call('HMGET', KEYS.engine, unpack(fields))
end

local quotes, found, count = { 'quotes' }, nil, #ARGV / 3
for index = 1, count do
  local at = (index - 1) % MARKETS_TOGETHER * 2
  if at == 0 then found = read_fields(index, math.min(index + MARKETS_TOGETHER - 1, count)) end
  if found[at + 1] ~= rules_of(ARGV[index * 3], ARGV[index * 3 - 1]) then return { 'stale', 'market' } end
  for side = 1, 2 do
    local best = redis.call('ZRANGE', KEYS[index * 2 - 1 + side], 0, 0)[1]
    quotes[index * 3 - 2 + side] = best and string.sub(best, 1, 7) or false
  end
  quotes[index * 3 + 1] = found[at + 2]
end
return quotes
