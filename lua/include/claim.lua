-- Ids that may be used once for ever: a wallet's client order ids, references of credits and debits.
-- Redis remembers one in a hash of two generations until Postgres has had it for a while; a Bloom filter
-- of 64-bit blocks remembers that it may have existed. `claim` is { field, offset, mask (8), checked_at }.

-- What a claimed id stands for, or nil.
local function claimed(keys, claim)
  return redis.call('HGET', keys.claims[1], claim.field) or redis.call('HGET', keys.claims[2], claim.field) or nil
end

local function filter_block(keys, claim)
  local block = redis.call('GETRANGE', keys.filter, claim.offset, claim.offset + 7)
  if #block < 8 then block = block .. string.rep('\0', 8 - #block) end
  return struct.unpack('>I4I4', block)
end

-- Whether Postgres may know the id: then the caller must have looked there less than five minutes ago.
-- Redis forgets an id ten minutes after Postgres has it, so what was not there then is still here now.
local function must_look_in_postgres(keys, claim, time)
  if time - claim.checked_at < 300000 then return false end
  local high, low = filter_block(keys, claim)
  local mask_high, mask_low = struct.unpack('>I4I4', claim.mask)
  return bit.tobit(bit.band(high, mask_high)) == bit.tobit(mask_high)
    and bit.tobit(bit.band(low, mask_low)) == bit.tobit(mask_low)
end

local function write_claim(keys, state, claim, value)
  redis.call('HSET', keys.claims[state.claims + 1], claim.field, value)
  local high, low = filter_block(keys, claim)
  local mask_high, mask_low = struct.unpack('>I4I4', claim.mask)
  local function unsigned(word) return word < 0 and word + 4294967296 or word end
  redis.call('SETRANGE', keys.filter, claim.offset, struct.pack('>I4I4',
    unsigned(bit.bor(high, mask_high)), unsigned(bit.bor(low, mask_low))))
end
