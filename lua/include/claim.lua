-- Ids that may be used once for ever: a wallet's client order ids, references of credits and debits.
-- Redis remembers one in a hash of two generations until Postgres has had it for a while; a Bloom filter
-- of 64-bit blocks remembers for ever that it may exist, so that a new id costs one read.
-- `claim` is { field, offset, mask (8), checked_at }; the field is a digest that tells wallets and kinds apart.

-- Replies what ends the command because of the claim, or nil: the id is free.
-- Where only Postgres may know it, the caller must have looked there less than five minutes ago. Redis forgets
-- an id ten minutes after Postgres has it, so what was not there then is still here now.
local function find_claim(keys, claim, time)
  local block = redis.call('GETRANGE', keys.filter, claim.offset, text(claim.offset + 7))
  if #block < 8 then block = block .. string.rep('\0', 8 - #block) end
  claim.high, claim.low = struct.unpack('>I4I4', block)
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
  local function unsigned(word) return word < 0 and word + 4294967296 or word end
  redis.call('HSET', keys.claims[state.claims + 1], claim.field, value)
  redis.call('SETRANGE', keys.filter, claim.offset, struct.pack('>I4I4',
    unsigned(bit.bor(claim.high, claim.mask_high)), unsigned(bit.bor(claim.low, claim.mask_low))))
end
