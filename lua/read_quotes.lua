#!lua flags=no-writes
--[[
The best prices and the last executions of markets at one moment.

KEYS  1 engine  2.. the bids and the asks of each market in turn
ARGV  the number of each market
Replies  for each market in turn: best bid and best ask as price keys (7 bytes), and the last price in ticks, each of
         them nil where there is none
]]
local fields, quotes = {}, {}
for index = 1, #ARGV do
  fields[index] = 'last:' .. ARGV[index]
end
local last = redis.call('HMGET', KEYS[1], unpack(fields))
for index = 1, #ARGV do
  local at = index * 3 - 2
  for side = 0, 1 do
    local best = redis.call('ZRANGE', KEYS[index * 2 + side], 0, 0)[1]
    quotes[at + side] = best and string.sub(best, 1, 7) or false
  end
  quotes[at + 2] = last[index]
end
return quotes
