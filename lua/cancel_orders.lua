#!lua flags=allow-oom
--[[
Takes live orders of one market off the book and releases what they hold, request by request. Orders that are not live
any more, or belong to another wallet than the one that asks, are passed over. Every request is atomic by itself: one
that fails leaves nothing and does not touch the others. The script stops before the next request once the requests
before have named as many orders as the call says.

KEYS  1 engine  2 events  3 bids  4 asks  5 base balances  6 quote balances  7 live orders
      8 unsettled 0  9 unsettled 1  10 levels of the bids  11 levels of the asks
ARGV  1 the call  2.. a request each; `src/engine/cancelling-call.ts` describes their bytes
Replies  { epoch and time, an outcome for each request } as bytes described there
Events   an orders_closed for each request that closed any
]]
--- include exact
--- include place_in_book
--- include engine_state
--- include emit
--- include closed_record
--- include amounts
--- include exact_sum
--- include market_rules

-- Codes of `src/engine/cancelling-call.ts`.
--- define UNTOUCHED 0
--- define CLOSED 1
--- define STALE 2
--- define CORRUPT 3
--- define FAILED 4

local keys = {
  engine = KEYS[1], events = KEYS[2], book = { [BUY] = KEYS[3], [SELL] = KEYS[4] }, live = KEYS[7],
  unsettled = { KEYS[8], KEYS[9] },
}
local held_in = { [BUY] = open_amounts(KEYS[6]), [SELL] = open_amounts(KEYS[5]) }
local levels = { [BUY] = open_amounts(KEYS[10]), [SELL] = open_amounts(KEYS[11]) }
local epoch, market_number, version, base_per_step, quote_per_lot, most_orders, symbol =
  struct.unpack('>I2I2I7I7I7I2I1c0', ARGV[1])
local rules = rules_of(text(version), symbol)
local found = redis.call('HMGET', keys.engine, 'state', 'rules:' .. market_number)
local state, rules_in_force = decode_state(found[1]), found[2]
local time, unsettled = event_time(state), {}

-- The live order behind a reference, or nil. `owner`: '' for any wallet.
local function find(reference, owner)
  local side, place = string.byte(reference, 2) % 2, string.sub(reference, 3)
  local member = redis.call('ZRANGE', keys.book[side], '[' .. place, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  if not member or string.sub(member, 1, 15) ~= place then return nil end
  local key, wallet, had_fills, left = struct.unpack('>I7xxxxxxxxc20I1I7', member)
  if owner ~= '' and wallet ~= owner then return nil end
  local held = left * (side == BUY and price_key(BUY, key) * quote_per_lot or base_per_step)
  return { side = side, member = member, wallet = wallet, had_fills = had_fills, left = left, held = held,
    level = string.sub(member, 1, 7), live = live_record(keys, wallet .. reference) }
end

-- Returns the live orders of a request, each once; nil when one has no live record.
local function find_all(references, owner)
  local orders, seen = {}, {}
  for at = 1, #references, 17 do
    local reference = string.sub(references, at, at + 16)
    local order = not seen[reference] and find(reference, owner)
    if order then
      seen[reference] = true
      if not order.live then return nil end
      orders[#orders + 1] = order
      ask(held_in[order.side], order.wallet .. 'r')
      ask(held_in[order.side], order.wallet .. 'a')
      ask(levels[order.side], order.level)
    end
  end
  for side = BUY, SELL do
    read_asked(held_in[side])
    read_asked(levels[side])
  end
  return orders
end

-- Returns true when every wallet has reserved what its orders hold. Fails for an amount that is no integer.
local function is_reserved(orders)
  local sums = { [BUY] = {}, [SELL] = {} }
  for _, order in ipairs(orders) do
    check_amount(held_in[order.side], order.wallet .. 'a')
    check_amount(levels[order.side], order.level)
    local field = order.wallet .. 'r'
    sums[order.side][field] = sums[order.side][field] or { 0, 0 }
    add_exactly(sums[order.side][field], order.held)
  end
  for side = BUY, SELL do
    for field, sum in pairs(sums[side]) do
      if not holds_sum(held_in[side], field, sum) then return false end
    end
  end
  return true
end

-- Nothing here may fail. Returns the closed records.
local function close_all(orders, cause)
  local records, wallets = {}, {}
  for index, order in ipairs(orders) do
    local amounts = held_in[order.side]
    redis.call('ZREM', keys.book[order.side], order.member)
    redis.call('ZREM', keys.live, order.live)
    add_to(levels[order.side], order.level, -order.left)
    add_to(amounts, order.wallet .. 'r', -order.held)
    add_to(amounts, order.wallet .. 'a', order.held)
    records[index] = closed_record(order.live, order.had_fills)
    wallets[order.wallet] = true
  end
  local closed = table.concat(records)
  append_event(keys.events, state, time, struct.pack('>I1I6I1', ORDERS_CLOSED, time, cause) .. closed)
  local stamp = stamp_of(state.epoch, state.sequence)
  for wallet in pairs(wallets) do
    unsettled[#unsettled + 1] = '0'
    unsettled[#unsettled + 1] = wallet .. stamp
  end
  return closed
end

local function close(owner, cause, references)
  if rules ~= rules_in_force then return STALE, 'market' end
  local orders = find_all(references, owner)
  if not orders or not is_reserved(orders) then return CORRUPT, '' end
  local closed = #orders > 0 and close_all(orders, cause) or ''
  return CLOSED, struct.pack('>I6', state.sequence) .. closed
end

local replies, met = { '' }, 0
for index = 2, #ARGV do
  local any, owner, cause, references = struct.unpack('>I1c20I1I2c0', ARGV[index])
  if met >= most_orders then
    replies[index] = struct.pack('I1', UNTOUCHED)
  elseif state.epoch ~= epoch then
    replies[index] = struct.pack('I1', STALE) .. 'epoch'
  else
    local done, outcome, value = pcall(close, any == 1 and '' or owner, cause, references)
    if not done then outcome, value = FAILED, tostring(outcome) end
    replies[index] = struct.pack('I1', outcome) .. value
    met = met + #references / 17
  end
end
for side = BUY, SELL do
  write_amounts(held_in[side], false)
  write_amounts(levels[side], true)
end
if #unsettled > 0 then
  write_unsettled(keys, state, unsettled)
  redis.call('HSET', keys.engine, 'state', encode_state(state))
end
replies[1] = struct.pack('>I2I6', state.epoch, time)
return replies
