#!lua
--[[
Checks if the engine has a refusal of its own for an order that the replica is about to refuse, because the engine's
refusals come first in the precedence. Writes nothing.

KEYS  engine, claims_0, claims_1, claim_filter
ARGV  epoch
      market_version     '' when there is no such market
      market_number      '' when there is no such market
      wallet             20 bytes
      client_order_id    '' for none
      filter_offset      offset of the block's first byte in the filter
      filter_mask        8 bytes
      checked_at         time that an earlier `unchecked` replied, if Postgres was asked since, else 0
      restricted         1 when the caller's country is blocked, else 0
      claim              digest of the client order id
      filter_layout      layout of the filters
      symbol             symbol of the market
      filter_last        offset of the block's last byte in the filter
Replies  { nothing_earlier } | { claimed, order reference } | { unchecked, time } | { stale, epoch|filter|market }
         { refused, code }
]]
--- include engine_state
--- include called_claim
--- include admit
--- include market_rules

local wallet = ARGV.wallet
local found = redis.call(
  'HMGET',
  KEYS.engine,
  'state',
  'paused',
  'terms',
  'filter',
  'hold:' .. wallet,
  'terms:' .. wallet,
  'rules:' .. ARGV.market_number
)
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if ARGV.client_order_id ~= '' then
  if ARGV.filter_layout ~= found[4] then return { 'stale', 'filter' } end
  local ended, value = find_called_claim(tonumber(ARGV.checked_at), state.time)
  if ended then return { ended, value } end
end
local rules = ARGV.market_version ~= '' and rules_of(ARGV.market_version, ARGV.symbol)
local ended, code = admit(found[2], found[3], found[5], found[6], ARGV.restricted == '1', rules, found[7])
if ended then return { ended, code } end
return { 'nothing_earlier' }
