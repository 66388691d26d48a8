#!lua flags=allow-oom
--[[
Moves funds: a deposit that arrived, a withdrawal that leaves at once, or a step of one that custody pays later. Such a
withdrawal is pending after its request, until it is either confirmed or returned. One that somebody took is returned by
nobody, and confirmed by whoever took it. A deposit may be announced first, and is dropped if it never arrives: both move
nothing. A reference counts once.

A reversal of a deposit goes through on a held wallet, and takes what is available. The wallet owes the rest: it cannot
withdraw anything until deposits, or returned withdrawals, of the asset have paid it.

KEYS  engine, events
      balances             balances of the asset
      assets, claims_0, claims_1, claim_filter, unsettled_0, unsettled_1
      all_balances...      balances of every asset, for what takes funds from a wallet; none for others
ARGV  epoch
      kind                 credited|debited|requested|confirmed|returned|announced|dropped
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
      scale                scale of the asset that the amount was made with; '' for any
      filter_last          offset of the block's last byte in the filter
      reversal             claim of the reversals of a movement; '' for none
      left                 atoms of that movement that Postgres has no reversal of, as decimal text
      other_step           claim of the request or announcement that an end needs, or of the end that an announcement
                           must not have; '' for none
      taken                field of the engine hash that tells who took the withdrawal; '' for none
      taker                beginning of the text of his take, of who confirms it
      act                  act of an operator as JSON; '' for none
Replies  { moved, sequence, owed atoms } | { claimed, the earlier movement as JSON } | { unchecked, time }
         { reversed, atoms that are left of the movement to reverse } | { stale, epoch|filter } | { refused, code }
Events   credited | debited | requested | confirmed | returned | announced | dropped
]]
--- include exact
--- include balance_fields
--- include engine_state
--- include emit
--- include called_claim
--- include act
--- include subtracted
--- include owes_any
--- define MAX_ATOMS '9223372036854775807' (2^63 - 1, the most that HINCRBY takes)

local keys = {
  engine = KEYS.engine,
  events = KEYS.events,
  balances = KEYS.balances,
  assets = KEYS.assets,
  unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 },
}
local kind, wallet, asset, amount = ARGV.kind, ARGV.wallet, ARGV.asset, ARGV.amount
local own, owed_field = wallet .. AVAILABLE, wallet .. OWED
-- The code of each kind, and its two changes, if it moves anything: field and sign. `pays`: the wallet receives, and pays what it owes first.
local KINDS = {
  credited = { CREDITED, own, '', SUPPLY, '', pays = true },
  debited = { DEBITED, own, '-', SUPPLY, '-' },
  requested = { REQUESTED, own, '-', WITHDRAWALS, '' },
  confirmed = { CONFIRMED, WITHDRAWALS, '-', SUPPLY, '-' },
  returned = { RETURNED, own, '', WITHDRAWALS, '-', pays = true },
  announced = { ANNOUNCED },
  dropped = { DROPPED },
}
local code, field, sign, other, other_sign = unpack(KINDS[kind])
local takes_back = kind == 'debited' and ARGV.reversal ~= ''
local found = redis.call('HMGET', keys.engine, 'state', 'filter', 'hold:' .. wallet, ARGV.taken)
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
local time = event_time(state)
if ARGV.filter_layout ~= found[2] then return { 'stale', 'filter' } end
local ended, block = find_called_claim(tonumber(ARGV.checked_at), state.time)
if ended then return { ended, block } end
local taken = found[4]
if taken and (kind == 'returned' or string.sub(taken, 1, #ARGV.taker) ~= ARGV.taker) then
  return { 'refused', 'PAYMENT_UNDER_WAY' }
end
local left = ARGV.left
if ARGV.reversal ~= '' then
  if not is_recent(tonumber(ARGV.checked_at), state.time) then return { 'unchecked', text(state.time) } end
  -- The last reversal that Redis remembers tells what it left: Postgres may not have it yet.
  left = string.match(recent_claim(ARGV.reversal) or '', '"left":"(%d+)"}$') or left
  if not text_at_most(amount, left) then return { 'reversed', left } end
end
local other_step = ARGV.other_step ~= '' and recent_claim(ARGV.other_step)
if other_step and kind == 'announced' then return { 'claimed', other_step } end
if ARGV.other_step ~= '' and not other_step and not is_recent(tonumber(ARGV.checked_at), state.time) then
  return { 'unchecked', text(state.time) }
end

local scale = redis.call('HGET', keys.assets, asset)
if not scale then return { 'refused', 'UNKNOWN_ASSET' } end
if ARGV.scale ~= '' and ARGV.scale ~= scale then return { 'refused', 'SCALE_CHANGED' } end
local held = redis.call('HMGET', keys.balances, field or own, other or own, own, owed_field)
local debt = held[4] or '0'
if kind == 'credited' and not text_at_most(held[2] or '0', ARGV.max_supply) then
  return { 'refused', 'SUPPLY_LIMIT' }
end
if takes_back then
  if not text_at_most(debt, ARGV.max_supply) then return { 'refused', 'SUPPLY_LIMIT' } end
elseif field == own and sign == '-' then
  if found[3] then return { 'refused', 'CUSTODY_HOLD' } end
  if owes_any(POSITION(KEYS.all_balances), #KEYS, wallet) then return { 'refused', 'RECEIVABLE_OPEN' } end
  if not text_at_most(amount, held[1] or '0') then return { 'refused', 'INSUFFICIENT_BALANCE' } end
end

-- Fails for a balance that HINCRBY cannot change, or that the change would make too large.
local function check_atoms(atoms, is_added)
  local is_amount = atoms == '0' or string.find(atoms, '^[1-9]%d*$')
  if not is_amount or not text_at_most(atoms, is_added and ARGV.max_supply or MAX_ATOMS) then
    error('not an amount in ' .. keys.balances, 0)
  end
end
check_atoms(held[1] or '0', sign == '')
check_atoms(held[2] or '0', other_sign == '')
check_atoms(debt, false)
local is_end = kind == 'confirmed' or kind == 'returned'
if is_end and not text_at_most(amount, redis.call('HGET', keys.balances, WITHDRAWALS) or '0') then
  error('less than ' .. amount .. ' is pending in ' .. keys.balances, 0)
end
-- A returned withdrawal that pays takes from the supply, too.
if kind == 'returned' then check_atoms(redis.call('HGET', keys.balances, SUPPLY) or '0', false) end

-- The part of the amount that the wallet owes from now on, or pays of what it owes.
local owed = '0'
if takes_back and not text_at_most(amount, held[1] or '0') then
  owed = subtracted(amount, held[1] or '0')
elseif KINDS[kind].pays then
  owed = text_at_most(amount, debt) and amount or debt
end
local rest = subtracted(amount, owed)
local record = owed == '0' and ARGV.record or string.sub(ARGV.record, 1, -2) .. ',"owed":"' .. owed .. '"}'

local function change(balance, by, atoms)
  if atoms ~= '0' then redis.call('HINCRBY', keys.balances, balance, by .. atoms) end
end

emit(keys, state, time, code, with_act(record, ARGV.act, held[3]), wallet)
if field then
  change(field, sign, field == own and rest or amount)
  change(other, other_sign, other == SUPPLY and rest or amount)
end
-- A returned withdrawal that pays belongs to no customer any more.
if kind == 'returned' then change(SUPPLY, '-', owed) end
change(owed_field, takes_back and '' or '-', owed)
if taken then redis.call('HDEL', keys.engine, ARGV.taken) end
redis.call('HSET', keys.assets, asset .. ' used', '1')
redis.call('SETRANGE', KEYS.claim_filter, ARGV.filter_offset, block)
redis.call('HSET', KEYS[POSITION(KEYS.claims_0) + state.claims], ARGV.claim, record)
if ARGV.reversal ~= '' then
  local noted = string.sub(record, 1, -2) .. ',"left":"' .. subtracted(left, amount) .. '"}'
  redis.call('HSET', KEYS[POSITION(KEYS.claims_0) + state.claims], ARGV.reversal, noted)
  redis.call('HDEL', KEYS[POSITION(KEYS.claims_0) + 1 - state.claims], ARGV.reversal)
end
return { 'moved', text(state.sequence), owed }
