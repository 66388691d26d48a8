#!lua flags=allow-oom
--[[
Credits or debits a wallet: a deposit that arrived, or a withdrawal that leaves at once. A reference counts once.

KEYS  engine, events
      balances             balances of the asset
      assets, claims_0, claims_1, claim_filter, unsettled_0, unsettled_1
      next_claim_filter    the filter that is being filled, if there is one
ARGV  epoch
      kind                 credited|debited
      wallet               20 bytes
      asset
      amount               atoms as decimal text
      claim                digest of the reference
      filter_offset        offset of the block's first byte in the filter
      filter_mask          8 bytes
      checked_at           time that an earlier `unchecked` replied, if Postgres was asked since, else 0
      max_supply           supply up to which a credit is allowed (2^62 - amount), as decimal text
      record               the movement as JSON
      filter_layout        layout of the filters
      next_filter_offset   the same offset in the next filter; '' for none
      scale                scale of the asset that the amount was made with; '' for any
      filter_last          offset of the block's last byte in the filter
      next_filter_last     the same offset in the next filter; '' for none
      reversal             claim of the reversal of a movement; '' for none
      act                  act of an operator as JSON; '' for none
Replies  { moved, sequence } | { claimed, the earlier movement as JSON } | { unchecked, time }
         { stale, epoch|filter } | { refused, code }
Events   credited | debited
]]
--- include exact
--- include balance_fields
--- include engine_state
--- include emit
--- include claim
--- include act
--- define MAX_ATOMS '9223372036854775807' (2^63 - 1, the most that HINCRBY takes)

local keys = {
  engine = KEYS.engine, events = KEYS.events, balances = KEYS.balances, assets = KEYS.assets,
  unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 },
}
local kind, wallet, asset, amount = ARGV.kind, ARGV.wallet, ARGV.asset, ARGV.amount
local credits = kind == 'credited'
local found = redis.call('HMGET', keys.engine, 'state', 'filter', 'hold:' .. wallet)
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
local time = event_time(state)
if ARGV.filter_layout ~= found[2] then return { 'stale', 'filter' } end
local ended, block = find_claim(KEYS.claims_0, KEYS.claims_1, KEYS.claim_filter, ARGV.filter_offset, ARGV.filter_last,
  ARGV.filter_mask, ARGV.claim, tonumber(ARGV.checked_at), state.time)
if ended then return { ended, block } end
if ARGV.reversal ~= '' then
  if redis.call('HGET', KEYS.claims_0, ARGV.reversal) or redis.call('HGET', KEYS.claims_1, ARGV.reversal) then
    return { 'refused', 'ALREADY_REVERSED' }
  end
  if not is_recent(tonumber(ARGV.checked_at), state.time) then return { 'unchecked', text(state.time) } end
end
local next_block = ARGV.next_filter_offset ~= ''
  and marked_block(KEYS.next_claim_filter, ARGV.next_filter_offset, ARGV.next_filter_last, ARGV.filter_mask)

local scale = redis.call('HGET', keys.assets, asset)
if not scale then return { 'refused', 'UNKNOWN_ASSET' } end
if ARGV.scale ~= '' and ARGV.scale ~= scale then return { 'refused', 'SCALE_CHANGED' } end
local held = redis.call('HMGET', keys.balances, SUPPLY, wallet .. AVAILABLE)
if credits then
  if not text_at_most(held[1] or '0', ARGV.max_supply) then return { 'refused', 'SUPPLY_LIMIT' } end
else
  if found[3] then return { 'refused', 'CUSTODY_HOLD' } end
  if not text_at_most(amount, held[2] or '0') then return { 'refused', 'INSUFFICIENT_BALANCE' } end
end

-- Fails for a balance that HINCRBY cannot change. `most`: decimal text.
local function check_atoms(atoms, most)
  local is_amount = atoms == '0' or string.find(atoms, '^[1-9]%d*$')
  if not is_amount or not text_at_most(atoms, most) then error('not an amount in ' .. keys.balances, 0) end
end
for index = 1, 2 do check_atoms(held[index] or '0', credits and ARGV.max_supply or MAX_ATOMS) end

local change = credits and amount or '-' .. amount
emit(keys, state, time, credits and CREDITED or DEBITED, with_act(ARGV.record, ARGV.act, held[2]), wallet)
redis.call('HINCRBY', keys.balances, wallet .. AVAILABLE, change)
redis.call('HINCRBY', keys.balances, SUPPLY, change)
redis.call('HSET', keys.assets, asset .. ' used', '1')
redis.call('SETRANGE', KEYS.claim_filter, ARGV.filter_offset, block)
if next_block then redis.call('SETRANGE', KEYS.next_claim_filter, ARGV.next_filter_offset, next_block) end
redis.call('HSET', KEYS[POSITION(KEYS.claims_0) + state.claims], ARGV.claim, ARGV.record)
if ARGV.reversal ~= '' then
  redis.call('HSET', KEYS[POSITION(KEYS.claims_0) + state.claims], ARGV.reversal, ARGV.record)
end
return { 'moved', text(state.sequence) }
