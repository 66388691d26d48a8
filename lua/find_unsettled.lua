#!lua flags=no-writes
--[[
Finds the events that touch a wallet and may not be in Postgres yet, newest first, a page at a time. It looks at entries
from the newest back to the first settled one, so its cost grows only with the number of unsettled events.

Later pages go on from the entry that ended the page before. That entry stays in the index until it is settled. If it is
gone before, the engine was lost or replaced between the two pages, and they do not belong together.

KEYS  engine, unsettled_0, unsettled_1
ARGV  wallet          20 bytes
      after           stamp that ended the page before; '' for the first page
      count           maximum stamps of a page
      max             maximum stamps after the page before that the caller takes
      settled         sequence up to which the caller knows the events to be settled; 0 if it knows none
      min_sequence    sequence of the last event that the caller knows of this engine; 0 if it knows none
Replies  { found, stamps... }  epoch (2) | sequence (6)  each, newest first; fewer than a page: there are no more
         { too_many } when there are more than `max` after the page before
         { stale, epoch } when the engine lacks the last event that the caller knows, or the page before
]]
--- include prefix_range
--- include engine_state
local FIRST_LOOK = 8
local wallet, after, count = ARGV.wallet, ARGV.after, tonumber(ARGV.count)
local head = redis.call('HMGET', KEYS.engine, 'settled', 'state')
local settled = math.max(tonumber(head[1] or 0), tonumber(ARGV.settled))

local function sequence_of(stamp) return (struct.unpack('>I6', string.sub(stamp, 3))) end

-- Returns members of the wallet from the newest that is left, newest first.
local function members_of(key, below, offset, max)
  return redis.call('ZRANGE', key, below, '[' .. wallet, 'BYLEX', 'REV', 'LIMIT', offset, max)
end

-- Looks at twice as many entries each time, until one of them is settled.
local function read_generation(key, found)
  local below, look, read = '(' .. wallet .. (after == '' and PREFIX_END .. PREFIX_END or after), FIRST_LOOK, 0
  while true do
    local members = members_of(key, below, 0, look)
    for _, member in ipairs(members) do
      local stamp = string.sub(member, 21)
      local sequence = sequence_of(stamp)
      if sequence <= settled or read == count then return end
      read = read + 1
      found[#found + 1] = { sequence = sequence, stamp = stamp }
    end
    if #members < look then return end
    below, look = '(' .. members[look], math.min(look * 2, count)
  end
end

local generations = { KEYS.unsettled_0, KEYS.unsettled_1 }
if decode_state(head[2]).sequence < tonumber(ARGV.min_sequence) then return { 'stale', 'epoch' } end
if after ~= '' then
  local is_listed = sequence_of(after) <= settled
  for _, key in ipairs(generations) do
    is_listed = is_listed or members_of(key, '[' .. wallet .. after, 0, 1)[1] == wallet .. after
    -- One look tells it, before the caller reads thousands of events in vain.
    local beyond = members_of(key, '(' .. wallet .. after, tonumber(ARGV.max), 1)[1]
    if beyond and sequence_of(string.sub(beyond, 21)) > settled then return { 'too_many' } end
  end
  if not is_listed then return { 'stale', 'epoch' } end
end

local found = {}
for _, key in ipairs(generations) do
  read_generation(key, found)
end
table.sort(found, function(one, other) return one.sequence > other.sequence end)
local reply = { 'found' }
for index = 1, math.min(#found, count) do
  reply[index + 1] = found[index].stamp
end
return reply
