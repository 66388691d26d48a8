#!lua
--[[
Answers an order that the replica already knows to refuse: what the engine alone knows comes first in the
precedence of refusals. Writes nothing.

KEYS  1 engine  2 claims 0  3 claims 1  4 claim filter
ARGV  1 epoch  2 market version ('' when there is no such market)  3 market number ('' likewise)  4 wallet (20 bytes)
      5 client order id ('' for none)  6 filter offset  7 filter mask (8 bytes)  8 checked in Postgres at (ms, 0 never)
      9 is the caller's country blocked (0|1)  10 claim of the client order id (its digest)  11 layout of the filters
      12 symbol of the market  13 offset of the last byte of the block in the filter
Replies  { admitted } | { claimed, order reference } | { unchecked, time } | { stale, epoch|filter|market } | { refused, code }
]]
--- include engine_state
--- include claim
--- include admit
--- include market_rules

local wallet = ARGV[4]
local found = redis.call('HMGET', KEYS[1], 'state', 'paused', 'terms', 'filter', 'hold:' .. wallet, 'terms:' .. wallet,
  'rules:' .. ARGV[3])
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
if ARGV[5] ~= '' then
  if ARGV[11] ~= found[4] then return { 'stale', 'filter' } end
  local ended, value = find_claim(KEYS[2], KEYS[3], KEYS[4], ARGV[6], ARGV[13], ARGV[7], ARGV[10], tonumber(ARGV[8]),
    event_time(state))
  if ended then return { ended, value } end
end
local rules = ARGV[2] ~= '' and rules_of(ARGV[2], ARGV[12])
local ended, code = admit(found[2], found[3], found[5], found[6], ARGV[9] == '1', rules, found[7])
if ended then return { ended, code } end
return { 'admitted' }
