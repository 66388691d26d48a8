#!lua
--[[
Counts the orders of a request against the limit of their wallet, all of them or none. An order counts for the minute that
follows its second, so the limit holds over any 60 seconds.

KEYS  log      the seconds of the last minute with orders, oldest first: Unix time (4) | orders (3)
ARGV  orders   number of orders of the request, at most the limit
      limit    maximum orders in any 60 seconds
Replies  { 1 if counted, else 0; orders that there is room for now; Unix second in which the oldest ones leave the minute;
           seconds until there is room for the request, 0 if counted }
]]
-- Like the logs of requests, it goes neither to the append-only file nor to replicas.
redis.set_repl(redis.REPL_NONE)

local SLOT, COUNTS_SECONDS = 7, 61
local orders, limit = tonumber(ARGV.orders), tonumber(ARGV.limit)
local now = tonumber(redis.call('TIME')[1])
local log, held = redis.call('GET', KEYS.log) or '', 0
local seconds, counts = {}, {}
for at = 1, #log, SLOT do
  local second, count = struct.unpack('>I4I3', log, at)
  -- After a step back of the clock, times of the future count as left.
  if second <= now and now - second < COUNTS_SECONDS then
    seconds[#seconds + 1], counts[#counts + 1] = second, count
    held = held + count
  end
end
local resets = (seconds[1] or now) + COUNTS_SECONDS
if held + orders > limit then
  local wait, room = COUNTS_SECONDS, limit - held
  for index, count in ipairs(counts) do
    room = room + count
    if room >= orders then
      wait = seconds[index] + COUNTS_SECONDS - now
      break
    end
  end
  return { 0, math.max(0, limit - held), resets, math.max(1, wait) }
end
if seconds[#seconds] == now then
  counts[#counts] = counts[#counts] + orders
else
  seconds[#seconds + 1], counts[#counts + 1] = now, orders
end
local slots = {}
for index, second in ipairs(seconds) do
  slots[index] = struct.pack('>I4I3', second, counts[index])
end
redis.call('SET', KEYS.log, table.concat(slots), 'EX', COUNTS_SECONDS)
return { 1, limit - held - orders, resets, 0 }
