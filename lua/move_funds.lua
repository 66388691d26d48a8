#!lua flags=allow-oom
--[[
Credits or debits a wallet: a deposit that arrived, or a withdrawal that leaves at once. A reference counts once.

KEYS  1 engine  2 events  3 balances of the asset  4 assets  5 claims 0  6 claims 1  7 claim filter
      8 unsettled 0  9 unsettled 1  10 next claim filter
ARGV  1 epoch  2 kind (credited|debited)  3 wallet (20 bytes)  4 asset  5 amount in atoms, decimal text
      6 claim of the reference (its digest)  7 filter offset  8 filter mask (8 bytes)  9 checked in Postgres at (ms, 0 never)
      10 for a credit, the supply up to which it is allowed (2^62 - amount), decimal text  11 the movement as JSON
      12 layout of the filters  13 offset in the next filter ('' for none)
      14 scale of the asset that the amount was made with ('' for any)
      15 offset of the last byte of the block in the filter  16 the same in the next filter ('' for none)
Replies  { moved, sequence, time } | { claimed, the earlier movement as JSON } | { unchecked, time }
         { stale, epoch|filter } | { refused, code }
Events   credited | debited
]]
--- include exact
--- include engine_state
--- include emit
--- include claim

local keys = {
  engine = KEYS[1], events = KEYS[2], balances = KEYS[3], assets = KEYS[4],
  unsettled = { KEYS[8], KEYS[9] },
}
local kind, wallet, asset, amount = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local credits = kind == 'credited'
local found = redis.call('HMGET', keys.engine, 'state', 'filter', 'hold:' .. wallet)
local state = decode_state(found[1])
if state.epoch ~= tonumber(ARGV[1]) then return { 'stale', 'epoch' } end
local time = event_time(state)
if ARGV[12] ~= found[2] then return { 'stale', 'filter' } end
local ended, block = find_claim(KEYS[5], KEYS[6], KEYS[7], ARGV[7], ARGV[15], ARGV[8], ARGV[6], tonumber(ARGV[9]), time)
if ended then return { ended, block } end
local next_block = ARGV[13] ~= '' and marked_block(KEYS[10], ARGV[13], ARGV[16], ARGV[8])

local scale = redis.call('HGET', keys.assets, asset)
if not scale then return { 'refused', 'UNKNOWN_ASSET' } end
if ARGV[14] ~= '' and ARGV[14] ~= scale then return { 'refused', 'SCALE_CHANGED' } end
local held = redis.call('HMGET', keys.balances, 'supply', wallet .. 'a')
if credits then
  if not text_at_most(held[1] or '0', ARGV[10]) then return { 'refused', 'SUPPLY_LIMIT' } end
else
  if found[3] then return { 'refused', 'CUSTODY_HOLD' } end
  if not text_at_most(amount, held[2] or '0') then return { 'refused', 'INSUFFICIENT_BALANCE' } end
end

local change = credits and amount or '-' .. amount
redis.call('HINCRBY', keys.balances, wallet .. 'a', change)
redis.call('HINCRBY', keys.balances, 'supply', change)
redis.call('HSET', keys.assets, asset .. ' used', '1')
redis.call('SETRANGE', KEYS[7], ARGV[7], block)
if next_block then redis.call('SETRANGE', KEYS[10], ARGV[13], next_block) end
redis.call('HSET', KEYS[5 + state.claims], ARGV[6], ARGV[11])
emit(keys, state, time, credits and CREDITED or DEBITED, ARGV[11], wallet)
return { 'moved', text(state.sequence), text(time) }
