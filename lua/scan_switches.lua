#!lua flags=no-writes
--[[
Reads a page of the dead-man switches, and all that is kept of each: for reconciling, so that no run is long.

KEYS  engine, switches, leases, cut_offs
ARGV  of       'switches', 'leases' or 'cut_offs': the key whose wallets are read
      cursor   '0' for the first page
      count    about how many wallets
Replies  { sequence, next cursor ('0' after the last page), { wallet, due time, noted due time, end of its lease, cut-off, … } }
         '' for what is not there
]]
--- include read_state
--- include noted_switch
local wallets, next_cursor = {}, '0'
if ARGV.of == 'cut_offs' then
  local page = redis.call('HSCAN', KEYS.cut_offs, ARGV.cursor, 'COUNT', ARGV.count)
  next_cursor = page[1]
  for at = 1, #page[2], 2 do
    local field = page[2][at]
    local wallet = string.sub(field, 1, 20)
    -- A field that the engine does not write is told as if it were a wallet of which nothing else is known.
    wallets[#wallets + 1] = field == noted_switch(wallet) and wallet or field
  end
else
  local from, count = tonumber(ARGV.cursor), tonumber(ARGV.count)
  wallets = redis.call('ZRANGE', ARGV.of == 'leases' and KEYS.leases or KEYS.switches, from, from + count - 1)
  if #wallets == count then next_cursor = text(from + count) end
end

local function score(key, wallet)
  local found = redis.call('ZSCORE', key, wallet)
  return found or ''
end
local found, seen = {}, {}
for _, wallet in ipairs(wallets) do
  if not seen[wallet] then
    seen[wallet] = true
    local noted = redis.call('HMGET', KEYS.cut_offs, noted_switch(wallet), wallet)
    found[#found + 1] = wallet
    found[#found + 1] = score(KEYS.switches, wallet)
    found[#found + 1] = noted[1] or ''
    found[#found + 1] = score(KEYS.leases, wallet)
    found[#found + 1] = noted[2] or ''
  end
end
return { text(read_state(KEYS.engine).sequence), next_cursor, found }
