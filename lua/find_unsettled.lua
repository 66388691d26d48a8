#!lua flags=no-writes
--[[
Finds the events that touch a wallet and may not be in Postgres yet, newest first, a page at a time. It looks at entries
from the newest back to the first settled one, so its cost grows only with the number of unsettled events.

KEYS  engine, unsettled_0, unsettled_1
ARGV  wallet   20 bytes
      after    stamp that ended the page before; '' for the first page
      most     most stamps of a page
Replies  stamps,  epoch (2) | sequence (6)  each, newest first; fewer than a page: there are no more
]]
--- include prefix_range
local FIRST_LOOK = 8
local wallet, most = ARGV.wallet, tonumber(ARGV.most)
local settled = tonumber(redis.call('HGET', KEYS.engine, 'settled') or 0)

-- Looks at twice as many entries each time, until one of them is settled.
local function read_generation(key, found)
  local below, look, count = '(' .. wallet .. (ARGV.after == '' and PREFIX_END .. PREFIX_END or ARGV.after), FIRST_LOOK, 0
  while true do
    local members = redis.call('ZRANGE', key, below, '[' .. wallet, 'BYLEX', 'REV', 'LIMIT', 0, look)
    for _, member in ipairs(members) do
      local sequence = struct.unpack('>I6', string.sub(member, 23))
      if sequence <= settled or count == most then return end
      count = count + 1
      found[#found + 1] = { sequence = sequence, stamp = string.sub(member, 21) }
    end
    if #members < look then return end
    below, look = '(' .. members[look], math.min(look * 2, most)
  end
end

local found = {}
read_generation(KEYS.unsettled_0, found)
read_generation(KEYS.unsettled_1, found)
table.sort(found, function(one, other) return one.sequence > other.sequence end)
local stamps = {}
for index = 1, math.min(#found, most) do stamps[index] = found[index].stamp end
return stamps
