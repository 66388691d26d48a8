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
Replies  { moved, sequence, time } | { claimed, the earlier movement as JSON } | { unchecked, time }
         { stale, epoch|filter } | { refused, code }
Events   credited | debited
]]
-- Numbers here are doubles: integers are exact below 2^53, and `tostring` keeps 14 digits only.
local EXACT_LIMIT = 9007199254740992 -- 2^53

-- An integer below 2^53 as decimal text. '%d' goes through a 64-bit integer: exact, and twice as fast as '%.0f'.
local function text(integer)
  return string.format('%d', integer)
end

-- Whether decimal text `a` <= decimal text `b`, for non-negative integers of any length.
local function text_at_most(a, b)
  return #a < #b or (#a == #b and a <= b)
end

-- The engine hash holds the epoch, the event sequence and clock, the switches, and per market and wallet only what
-- differs from the default. `unsettled` and `claims` are the current generations of those keys.

-- What every command that writes must know.
local function read_clock(engine)
  local found = redis.call('HMGET', engine, 'epoch', 'sequence', 'time', 'unsettled')
  return { epoch = found[1], sequence = tonumber(found[2] or 0), time = tonumber(found[3] or 0),
    unsettled = tonumber(found[4] or 0) }
end

-- That, and all that the engine holds against one wallet's command on one market, in one call.
local function read_state(engine, market_number, wallet)
  local found = redis.call('HMGET', engine, 'epoch', 'sequence', 'time', 'unsettled', 'paused', 'terms', 'trade',
    'claims', 'version:' .. market_number, 'last:' .. market_number, 'hold:' .. wallet, 'terms:' .. wallet, 'filter',
    'symbol:' .. market_number)
  return {
    epoch = found[1],
    sequence = tonumber(found[2] or 0),
    time = tonumber(found[3] or 0),
    unsettled = tonumber(found[4] or 0),
    paused = found[5],
    terms = found[6],
    trade = tonumber(found[7] or 0),
    claims = tonumber(found[8] or 0),
    version = found[9],
    last = found[10],
    held = found[11],
    accepted_terms = found[12],
    filter = found[13],
    symbol = found[14],
  }
end

-- Unix milliseconds; never earlier than the last event, so that time does not run backwards.
local function event_time(state)
  local now = redis.call('TIME')
  return math.max(now[1] * 1000 + math.floor(now[2] / 1000), state.time)
end

-- epoch (2) | sequence (6): orders by age, and goes on rising after a rebuild.
local function stamp_of(epoch, sequence)
  return struct.pack('>I2I6', epoch, sequence)
end
local MOST_UNPACKED = 4000 -- unpack fails at 8,000

-- Appends one event and moves the engine's sequence and clock on; the entry is the outbox that
-- settlement reads, so it must hold all that Postgres needs.
-- `wallets`: set of wallets whose lists the event changes; they are indexed until the event is settled.
-- `also`: further fields of the engine hash, written in the same call.
local function emit(keys, state, time, fields, wallets, also)
  state.sequence = state.sequence + 1
  state.time = time
  redis.call('XADD', keys.events, state.epoch .. '-' .. text(state.sequence), 'time', text(time), unpack(fields))
  local stamp = stamp_of(state.epoch, state.sequence)
  local unsettled, index = keys.unsettled[state.unsettled + 1], {}
  for wallet in pairs(wallets) do
    index[#index + 1] = '0'
    index[#index + 1] = wallet .. stamp
    if #index == MOST_UNPACKED then
      redis.call('ZADD', unsettled, unpack(index))
      index = {}
    end
  end
  if #index > 0 then redis.call('ZADD', unsettled, unpack(index)) end
  redis.call('HSET', keys.engine, 'sequence', text(state.sequence), 'time', text(time), unpack(also or {}))
end
-- Ids that may be used once for ever: a wallet's client order ids, references of credits and debits.
-- Redis remembers one in a hash of two generations until Postgres has had it for a while; a Bloom filter
-- of 64-bit blocks remembers for ever that it may exist, so that a new id costs one read.
-- `claim` is { field, offset, mask (8), checked_at, layout, next_offset }; the field is a digest that tells wallets and
-- kinds apart. `layout` names the filters that the caller meant, as the engine hash does (`filter`): the one in force and,
-- after a space, the one that is being filled to replace it, which has the id's block at `next_offset`.

local function read_block(key, offset)
  local block = redis.call('GETRANGE', key, offset, text(offset + 7))
  if #block < 8 then block = block .. string.rep('\0', 8 - #block) end
  return struct.unpack('>I4I4', block)
end

local function write_block(key, offset, high, low, claim)
  local function unsigned(word) return word < 0 and word + 4294967296 or word end
  redis.call('SETRANGE', key, offset, struct.pack('>I4I4',
    unsigned(bit.bor(high, claim.mask_high)), unsigned(bit.bor(low, claim.mask_low))))
end

-- Replies what ends the command because of the claim, or nil: the id is free. `filter`: of the engine hash.
-- Where only Postgres may know it, the caller must have looked there less than five minutes ago. Redis forgets
-- an id ten minutes after Postgres has it, so what was not there then is still here now.
local function find_claim(keys, filter, claim, time)
  if claim.layout ~= (filter or '') then return { 'stale', 'filter' } end
  claim.high, claim.low = read_block(keys.filter, claim.offset)
  claim.mask_high, claim.mask_low = struct.unpack('>I4I4', claim.mask)
  if bit.band(claim.high, claim.mask_high) ~= bit.tobit(claim.mask_high)
      or bit.band(claim.low, claim.mask_low) ~= bit.tobit(claim.mask_low) then
    return nil
  end
  local known = redis.call('HGET', keys.claims[1], claim.field) or redis.call('HGET', keys.claims[2], claim.field)
  if known then return { 'claimed', known } end
  if time - claim.checked_at >= 300000 then return { 'unchecked', text(time) } end
  return nil
end

-- After find_claim has found it free.
local function write_claim(keys, state, claim, value)
  redis.call('HSET', keys.claims[state.claims + 1], claim.field, value)
  write_block(keys.filter, claim.offset, claim.high, claim.low, claim)
  if claim.next_offset then
    local high, low = read_block(keys.next_filter, claim.next_offset)
    write_block(keys.next_filter, claim.next_offset, high, low, claim)
  end
end

local keys = {
  engine = KEYS[1], events = KEYS[2], balances = KEYS[3], assets = KEYS[4],
  claims = { KEYS[5], KEYS[6] }, filter = KEYS[7], next_filter = KEYS[10],
  unsettled = { KEYS[8], KEYS[9] },
}
local kind, wallet, asset, amount = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local credits = kind == 'credited'
local claim = {
  field = ARGV[6], offset = tonumber(ARGV[7]), mask = ARGV[8], checked_at = tonumber(ARGV[9]),
  layout = ARGV[12], next_offset = tonumber(ARGV[13]),
}
local state = read_state(keys.engine, '', wallet)
if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
local time = event_time(state)
local ended = find_claim(keys, state.filter, claim, time)
if ended then return ended end

local scale = redis.call('HGET', keys.assets, asset)
if not scale then return { 'refused', 'UNKNOWN_ASSET' } end
if ARGV[14] ~= '' and ARGV[14] ~= scale then return { 'refused', 'SCALE_CHANGED' } end
local held = redis.call('HMGET', keys.balances, 'supply', wallet .. 'a')
if credits then
  if not text_at_most(held[1] or '0', ARGV[10]) then return { 'refused', 'SUPPLY_LIMIT' } end
else
  if state.held then return { 'refused', 'CUSTODY_HOLD' } end
  if not text_at_most(amount, held[2] or '0') then return { 'refused', 'INSUFFICIENT_BALANCE' } end
end

local change = credits and amount or '-' .. amount
redis.call('HINCRBY', keys.balances, wallet .. 'a', change)
redis.call('HINCRBY', keys.balances, 'supply', change)
redis.call('HSET', keys.assets, asset .. ' used', '1')
write_claim(keys, state, claim, ARGV[11])
emit(keys, state, time, { 'kind', kind, 'movement', ARGV[11] }, { [wallet] = true })
return { 'moved', text(state.sequence), text(time) }
