#!lua
--[[
Sets bits of a claim filter that is being filled, and leaves those that commands have set meanwhile.

KEYS  1 engine  2 string of the filter
ARGV  1 epoch  2 layout of the filters  3 offset, a multiple of 8  4 bits, whole blocks of 8 bytes
Replies  { merged } | { stale, epoch|filter }
]]
--- include engine_state

local found = redis.call('HMGET', KEYS[1], 'state', 'filter')
if decode_state(found[1]).epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
if found[2] ~= ARGV[2] then return { 'stale', 'filter' } end

local offset, piece = tonumber(ARGV[3]), ARGV[4]
local present = redis.call('GETRANGE', KEYS[2], offset, offset + #piece - 1)
redis.call('SETRANGE', KEYS[2], offset, piece)
-- Few blocks have bits by now: only those are put together.
local at = string.find(present, '[^%z]')
while at do
  local first = at - (at - 1) % 8
  local both = {}
  for byte = first, first + 7 do
    both[#both + 1] = string.char(bit.bor(string.byte(present, byte) or 0, string.byte(piece, byte)))
  end
  redis.call('SETRANGE', KEYS[2], offset + first - 1, table.concat(both))
  at = string.find(present, '[^%z]', first + 8)
end
return { 'merged' }
