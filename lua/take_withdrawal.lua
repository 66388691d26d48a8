#!lua flags=allow-oom
--[[
Takes a pending withdrawal for whoever pays it, or releases it. Who took it may take it again, which changes its time.
A take has no end of its own: its payment may be under way.

KEYS  engine, events, claims_0, claims_1, claim_filter, unsettled_0, unsettled_1
      all_balances...      balances of every asset
ARGV  epoch
      field                field of the engine hash that tells who took the withdrawal
      take                 the take as JSON; '' releases it
      taker                beginning of the texts of his takes: name and key to take it, name to release it
      until_ms             Unix milliseconds until when it is taken
      wallet               20 bytes
      detail               detail of the event as JSON
      checked_at           time that an earlier `unchecked` replied, if Postgres was asked since, else 0
      claim                digest under which the withdrawal ends
      filter_offset        offset of the block's first byte in the filter
      filter_last          offset of the block's last byte in the filter
      filter_mask          8 bytes
      filter_layout        layout of the filters
      request              claim of the request
      act                  act of an operator as JSON; '' for none
Replies  { taken } | { released } | { unchanged } | { claimed, the movement that ended it as JSON }
         { unchecked, time } | { stale, epoch|filter } | { refused, code }
Events   withdrawal_taken | withdrawal_released
]]
--- include engine_state
--- include emit
--- include called_claim
--- include act
--- include owes_any
--- define LONGEST_TAKE_MS 604800000 (7 days, as the refusal NO_TIME_OF_TAKE says)

local keys = { engine = KEYS.engine, events = KEYS.events, unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 } }
local take, wallet = ARGV.take, ARGV.wallet
local found = redis.call('HMGET', keys.engine, 'state', 'filter', 'hold:' .. wallet, ARGV.field)
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if ARGV.filter_layout ~= found[2] then return { 'stale', 'filter' } end
local time, taken = event_time(state), found[4]
if taken and string.sub(taken, 1, #ARGV.taker) ~= ARGV.taker then return { 'refused', 'PAYMENT_UNDER_WAY' } end
if (taken or '') == take then return { 'unchanged' } end

if not taken then
  local ended, block = find_called_claim(tonumber(ARGV.checked_at), state.time)
  if ended then return { ended, block } end
  if not recent_claim(ARGV.request) and not is_recent(tonumber(ARGV.checked_at), state.time) then
    return { 'unchecked', text(state.time) }
  end
  if found[3] then return { 'refused', 'CUSTODY_HOLD' } end
  if owes_any(POSITION(KEYS.all_balances), #KEYS, wallet) then return { 'refused', 'RECEIVABLE_OPEN' } end
end
if take == '' then
  emit(keys, state, time, WITHDRAWAL_RELEASED, with_act(ARGV.detail, ARGV.act, taken), wallet)
  redis.call('HDEL', keys.engine, ARGV.field)
  return { 'released' }
end
local ahead = tonumber(ARGV.until_ms) - time
if ahead <= 0 or ahead > LONGEST_TAKE_MS then return { 'refused', 'NO_TIME_OF_TAKE' } end
emit(keys, state, time, WITHDRAWAL_TAKEN, with_act(ARGV.detail, ARGV.act, taken), wallet)
redis.call('HSET', keys.engine, ARGV.field, take)
return { 'taken' }
