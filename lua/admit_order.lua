#!lua
--[[
Answers an order that the replica already knows to refuse: what the engine alone knows comes first in the
precedence of refusals. Writes nothing.

KEYS  1 engine  2 claims 0  3 claims 1  4 claim filter  5 markets
ARGV  1 epoch  2 market version ('' when there is no such market)  3 market number ('' likewise)  4 wallet (20 bytes)
      5 client order id ('' for none)  6 filter offset  7 filter mask (8 bytes)  8 checked in Postgres at (ms, 0 never)
      9 is the caller's country blocked (0|1)  10 claim of the client order id (its digest)  11 layout of the filters
      12 symbol of the market
Replies  { admitted } | { claimed, order reference } | { unchecked, time } | { stale, epoch|filter|market } | { refused, code }
]]
--- include engine_state
--- include claim
--- include admit

local keys = { claims = { KEYS[2], KEYS[3] }, filter = KEYS[4], markets = KEYS[5] }
local claim = ARGV[5] ~= '' and {
  field = ARGV[10], offset = tonumber(ARGV[6]), mask = ARGV[7], checked_at = tonumber(ARGV[8]),
  layout = ARGV[11],
}
local state = read_state(KEYS[1], ARGV[3], ARGV[4])
local market = ARGV[2] ~= '' and { version = ARGV[2], number = ARGV[3], symbol = ARGV[12] } or nil
local ended = admit(keys, state, ARGV[1], market, claim, event_time(state), ARGV[9])
return ended or { 'admitted' }
