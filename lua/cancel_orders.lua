#!lua flags=allow-oom
--[[
Takes live orders of one market off the book and releases what they hold. Orders that are not live any more,
or belong to another wallet than the one asked for, are passed over.

KEYS  1 engine  2 events  3 bids  4 asks  5 base balances  6 quote balances  7 live orders
      8 unsettled 0  9 unsettled 1  10 levels of the bids  11 levels of the asks  12 markets
ARGV  1 epoch  2 wallet (20 bytes; '' for any)  3 cause (cancel|void|clear|hold)
      4 base atoms per step  5 quote atoms per lot  6 order references, 17 bytes each
      7 market number  8 symbol  9 market version
Replies  { closed, sequence, time, closed records } | { stale, epoch|market }
         { corrupt } when a reservation or a live record is missing
Events   orders_closed, when there was any
]]
--- include exact
--- include place_in_book
--- include engine_state
--- include emit
--- include closed_record
--- include exact_sum
--- include levels
--- include market_rules

local keys = {
  engine = KEYS[1], events = KEYS[2], book = { buy = KEYS[3], sell = KEYS[4] },
  asset = { buy = KEYS[6], sell = KEYS[5] }, live = KEYS[7], unsettled = { KEYS[8], KEYS[9] },
  levels = { buy = KEYS[10], sell = KEYS[11] },
}
local owner, cause = ARGV[2], ARGV[3]
local base_per_step, quote_per_lot = tonumber(ARGV[4]), tonumber(ARGV[5])
local market = { number = ARGV[7], symbol = ARGV[8], version = ARGV[9] }
local state = read_state(keys.engine, market.number, '')
if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
if not are_in_force(KEYS[12], market, state.version, state.symbol) then return { 'stale', 'market' } end

-- The live order behind a reference, or nil.
local function find(reference)
  local side = string.byte(reference, 2) % 2 == 1 and 'sell' or 'buy'
  local place = string.sub(reference, 3)
  local member = redis.call('ZRANGE', keys.book[side], '[' .. place, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  if not member or string.sub(member, 1, 15) ~= place then return nil end
  local key, _, wallet, had_fills, left = read_member(member)
  if owner ~= '' and wallet ~= owner then return nil end
  local held = left * (side == 'buy' and price_key('buy', key) * quote_per_lot or base_per_step)
  return { side = side, member = member, wallet = wallet, had_fills = had_fills, left = left, held = held,
    live = live_record(keys, wallet, reference) }
end

local found, seen, needs = {}, {}, { buy = {}, sell = {} }
for at = 1, #ARGV[6], 17 do
  local reference = string.sub(ARGV[6], at, at + 16)
  local order = not seen[reference] and find(reference)
  if order then
    seen[reference] = true
    found[#found + 1] = order
    if not order.live then return { 'corrupt' } end
    add_exactly(needs[order.side], order.wallet .. 'r', order.held)
  end
end
if #found == 0 then return { 'closed', text(state.sequence), text(state.time), '' } end
if not covers_exactly(keys.asset.buy, needs.buy) or not covers_exactly(keys.asset.sell, needs.sell) then
  return { 'corrupt' }
end

local records, wallets = {}, {}
for index, order in ipairs(found) do
  redis.call('ZREM', keys.book[order.side], order.member)
  redis.call('ZREM', keys.live, order.live)
  write_levels(keys.levels[order.side], { [string.sub(order.member, 1, 7)] = -order.left })
  redis.call('HINCRBY', keys.asset[order.side], order.wallet .. 'r', text(0 - order.held))
  redis.call('HINCRBY', keys.asset[order.side], order.wallet .. 'a', text(order.held))
  records[index] = closed_record(order.live, order.had_fills)
  wallets[order.wallet] = true
end
local closed, time = table.concat(records), event_time(state)
emit(keys, state, time, { 'kind', 'orders_closed', 'cause', cause, 'orders', closed }, wallets)
return { 'closed', text(state.sequence), text(time), closed }
