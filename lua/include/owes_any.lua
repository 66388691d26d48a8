--- include balance_fields
-- Returns true when a wallet owes anything in any of the balances that KEYS names from `first` to `last`.
local function owes_any(first, last, wallet)
  for index = first, last do
    local owed = redis.call('HGET', KEYS[index], wallet .. OWED)
    if owed and owed ~= '0' then return true end
  end
  return false
end
