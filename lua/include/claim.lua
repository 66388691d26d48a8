-- Ids that may be used once for ever: a wallet's client order ids, references of credits and debits.
-- Redis remembers one in a hash of two generations until Postgres has had it for a while; a Bloom filter
-- of 64-bit blocks remembers for ever that it may exist, so that a new id costs one read.
-- `claim` is { field, filter, offset, mask (8), checked_at, next_filter, next_offset }; the field is a digest that tells
-- wallets and kinds apart. `filter` is the key of the filter's string. While another filter is being filled to replace
-- the one in force, the id's block in that one is at `next_offset` of `next_filter`.

local function read_block(key, offset)
  local block = redis.call('GETRANGE', key, offset, offset + 7)
  if #block < 8 then block = block .. string.rep('\0', 8 - #block) end
  return struct.unpack('>I4I4', block)
end

local function write_block(key, offset, high, low, claim)
  local function unsigned(word) return word < 0 and word + 4294967296 or word end
  redis.call('SETRANGE', key, offset, struct.pack('>I4I4',
    unsigned(bit.bor(high, claim.mask_high)), unsigned(bit.bor(low, claim.mask_low))))
end

-- Returns what ends the command because of the claim, or nil: the id is free.
-- Where only Postgres may know it, the caller must have looked there less than five minutes ago. Redis forgets
-- an id ten minutes after Postgres has it, so what was not there then is still here now.
local function find_claim(keys, claim, time)
  -- Read before anything is written, for a string that cannot be read must fail the command as long as that is possible.
  if claim.next_filter then claim.next_high, claim.next_low = read_block(claim.next_filter, claim.next_offset) end
  claim.high, claim.low = read_block(claim.filter, claim.offset)
  claim.mask_high, claim.mask_low = struct.unpack('>I4I4', claim.mask)
  if bit.band(claim.high, claim.mask_high) ~= bit.tobit(claim.mask_high)
      or bit.band(claim.low, claim.mask_low) ~= bit.tobit(claim.mask_low) then
    return nil
  end
  local known = redis.call('HGET', keys.claims[1], claim.field) or redis.call('HGET', keys.claims[2], claim.field)
  if known then return 'claimed', known end
  if time - claim.checked_at >= 300000 then return 'unchecked', text(time) end
  return nil
end

-- Marks the id in the filters, after find_claim has found it free.
local function mark_claim(claim)
  write_block(claim.filter, claim.offset, claim.high, claim.low, claim)
  if claim.next_filter then
    write_block(claim.next_filter, claim.next_offset, claim.next_high, claim.next_low, claim)
  end
end
