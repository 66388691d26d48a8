-- Claims of ids that may be used only once, ever: a wallet's client order ids, references of credits and debits.
-- A hash of two generations remembers an id until Postgres has had it for a while. A Bloom filter of 64-bit blocks
-- remembers for ever that an id may exist, so that a new id costs one read.
-- An id's field in the hash is a digest of its kind, its wallet and the id. Its mask (8 bytes) has its bits of a block.
-- A block is named by its string of the filter and by the offsets of its first and last byte, as text.

--- define LOOK_COUNTS_MS 300000 (a look into Postgres counts for five minutes; `src/engine/claims.ts` has the same)

-- Returns the block with the id's bits set, and true when all of them were set before.
local function marked_block(filter, first, last, mask)
  local block = redis.call('GETRANGE', filter, first, last)
  if #block < 8 then block = block .. string.rep('\0', 8 - #block) end
  local high, low, mask_high, mask_low = struct.unpack('>I4I4I4I4', block .. mask)
  local marked_high, marked_low = bit.bor(high, mask_high), bit.bor(low, mask_low)
  return struct.pack('>I4I4', marked_high, marked_low), marked_high == bit.tobit(high) and marked_low == bit.tobit(low)
end

-- True when a look into Postgres counts.
local function is_recent(checked_at, time) return time - checked_at < LOOK_COUNTS_MS end

-- Returns what the claim of an id stands for, while Redis remembers it.
local function recent_claim(field)
  return redis.call('HGET', KEYS.claims_0, field) or redis.call('HGET', KEYS.claims_1, field)
end

-- Returns nil and the block with the id's bits when the id is free. Otherwise returns 'claimed' and the reference, or
-- 'unchecked' and the time: only Postgres may know the id, and the caller has not looked there in the last five
-- minutes. A caller who has looked may have found the id in a sealed filter, which scripts do not read. Redis forgets an
-- id ten minutes after Postgres has it, so an id that Postgres did not know then is still in Redis now. `time` is that
-- of the last event: it never runs backwards, and both intervals are measured by it. By the server's clock, which may
-- step ahead and back, an id could be forgotten while an earlier look still counts.
local function find_claim(filter, first, last, mask, field, checked_at, time)
  local block, is_marked = marked_block(filter, first, last, mask)
  if is_marked or checked_at > 0 then
    local known = recent_claim(field)
    if known then return 'claimed', known end
    if not is_recent(checked_at, time) then return 'unchecked', text(time) end
  end
  return nil, block
end
