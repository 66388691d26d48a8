--- include claim
-- Returns what find_claim returns for the one claim of a call, whose arguments have the same names in each script.
local function find_called_claim(checked_at, time)
  return find_claim(
    KEYS.claim_filter,
    ARGV.filter_offset,
    ARGV.filter_last,
    ARGV.filter_mask,
    ARGV.claim,
    checked_at,
    time
  )
end
