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
