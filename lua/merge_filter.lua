#!lua
--[[
Sets bits of a claim filter that is being filled, and keeps those that commands have set meanwhile.

KEYS  engine
      filter          one string of the filter
ARGV  epoch
      filter_layout   layout of the filters
      offset          a multiple of 8
      bits            whole blocks of 8 bytes
Replies  { merged } | { stale, epoch|filter }
]]
--- include engine_state

local found = redis.call('HMGET', KEYS.engine, 'state', 'filter')
if decode_state(found[1]).epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if found[2] ~= ARGV.filter_layout then return { 'stale', 'filter' } end

local offset, piece = tonumber(ARGV.offset), ARGV.bits
local present = redis.call('GETRANGE', KEYS.filter, offset, offset + #piece - 1)
redis.call('SETRANGE', KEYS.filter, offset, piece)
-- Few blocks have bits already: only those are merged.
local at = string.find(present, '[^%z]')
while at do
  local first = at - (at - 1) % 8
  local both = {}
  for byte = first, first + 7 do
    both[#both + 1] = string.char(bit.bor(string.byte(present, byte) or 0, string.byte(piece, byte)))
  end
  redis.call('SETRANGE', KEYS.filter, offset + first - 1, table.concat(both))
  at = string.find(present, '[^%z]', first + 8)
end
return { 'merged' }
