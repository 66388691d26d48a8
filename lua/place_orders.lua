#!lua
--[[
Places orders of one market, in the order given: claims each client id, checks everything, matches, moves both sides'
balances and the fee, rests what may rest, and appends an event for each. Every order is atomic by itself: all its
checks come before its first write, and an order that fails writes nothing and does not affect the others. The script
stops before the next order once the orders before have met as many makers as the call says.

KEYS  engine, events, bids, asks, base_balances, quote_balances, live, claims_0, claims_1, unsettled_0, unsettled_1
      markets, bid_levels, ask_levels
      filters...   strings of the claim filters that the orders name
ARGV  call         `src/engine/placing-call.ts` describes its bytes
      orders...    the bytes of each are described there
Replies  { epoch, time and skipped makers, an outcome for each order } as bytes described there
Events   an order_placed each, after an orders_closed if it replaces an order; after a failed settlement also
         market_changed

Most orders take the fast path, a straight line (place_fast). Any other order, and any order that might be refused, goes
through the phases of the whole command: read_order, plan_order (admit, price, check), commit_order (write, reply). The
functions of the whole command are made when the first such order comes, because making them costs as much as an
order.
]]
--- include exact
--- include place_in_book
--- include engine_state
--- include known_engine
--- include append_event
--- include claim
--- include prefix_range
--- include amounts

--- include placing_codes
--- include market_keys
--- define CLAIMS POSITION(KEYS.claims_0)
--- define FIRST_FILTER POSITION(KEYS.filters)
--- define FIRST_ORDER POSITION(ARGV.orders)
-- An order begins with its terms, which its event repeats; the terms begin with the wallet.

local PLACING_CALL_FIELDS = struct.unpack(PLACING_CALL_FORMAT, ARGV.call)

-- Reads the engine hash in one call: the fields that every order needs, and those of each wallet.
local held, accepted_terms = {}, {}
local fields = { 'state', 'paused', 'terms', 'filter', 'rules:' .. market_number, 'last:' .. market_number }
for index = FIRST_ORDER, #ARGV do
  local wallet = string.sub(ARGV[index], 1, 20)
  fields[index * 2 + 3], fields[index * 2 + 4] = 'hold:' .. wallet, 'terms:' .. wallet
end
local found = redis.call('HMGET', KEYS.engine, unpack(fields))
local state, filter_in_force, rules_in_force, last_price = decode_state(found[1]), found[4], found[5], found[6]
local paused, required_terms = found[2], found[3]
for index = FIRST_ORDER, #ARGV do
  local wallet = string.sub(ARGV[index], 1, 20)
  if found[index * 2 + 3] then held[wallet] = true end
  if found[index * 2 + 4] then accepted_terms[wallet] = found[index * 2 + 4] end
end

local is_current = is_known(state, epoch, min_sequence)
-- A deadline is compared with the server's clock alone: the time of the last event may be ahead of it.
local now = server_time()
local time, trade_before = math.max(now, state.time), state.trade
-- Changes that write_call writes at the end: ids that the call claims (digest -> reference), live orders (first 37
-- bytes -> record), scores and members of the unsettled index. `live_counts`: number of live orders of each wallet,
-- once counted.
local claimed, live_added, live_counts, unsettled = {}, {}, {}, {}
-- Number of makers that the current order has met.
local makers_met = 0

-- Returns true when the deadline of an order has passed. 0: it has none.
local function is_late(expires_after) return expires_after > 0 and now > expires_after end

local function count_live(wallet)
  local count = live_counts[wallet]
  if not count then
    count = redis.call('ZLEXCOUNT', KEYS.live, '[' .. wallet, '(' .. wallet .. PREFIX_END)
    live_counts[wallet] = count
  end
  return count
end

--- include held_atoms
--- include write_fills
--- include place_fast
--- include write_call

-- Reads the amounts that most orders of this call will need, one HMGET for each hash.
local function read_ahead()
  local last, last_pays
  for index = FIRST_ORDER, #ARGV do
    local ORDER_AHEAD_FIELDS = struct.unpack(ORDER_AHEAD_FORMAT, ARGV[index])
    local pays = amounts_of(KEYS[QUOTE - side])
    if wallet ~= last or pays ~= last_pays then
      ask(pays, wallet .. AVAILABLE)
      ask(pays, wallet .. RESERVED)
      last, last_pays = wallet, pays
    end
    if kind == LIMIT_ORDER then
      ask(amounts_of(KEYS[LEVELS + side]), struct.pack(KEY_FORMAT, price_key(side, price)))
    end
  end
  for _, amounts in pairs(opened) do
    read_asked(amounts)
  end
end

-- Returns true for the outcome of an order that changed nothing but the list of its wallet's orders.
local function is_in_vain(outcome)
  local code = string.byte(outcome, 1)
  return code ~= REPLACED and (code ~= PLACED or string.byte(outcome, 8) == REJECTED)
end

-- An order that needs an unreadable key fails alone.
if #ARGV > FIRST_ORDER then pcall(read_ahead) end
local replies, met, skipped_makers = { '' }, 0, ''
local place_any -- the whole command, once it is made
for index = FIRST_ORDER, #ARGV do
  local bytes = ARGV[index]
  if met >= max_makers_of_call then
    replies[index] = struct.pack(CODE_FORMAT, UNTOUCHED)
  elseif not is_current then
    replies[index] = struct.pack(CODE_FORMAT, STALE) .. 'epoch'
  else
    makers_met = 0
    local done, reply = pcall(place_fast, bytes)
    if done and not reply then
      if not place_any then
        local function make_place()
          --- include admit
          --- include closed_record
          --- include exact_sum
          --- include market_rules
          --- include emit
          --- include halt_market
          --- include read_order
          --- include walk_book
          --- include needs_of
          --- include plan_order
          --- include commit_order
          return function(order_bytes)
            local order = read_order(order_bytes)
            local ended, value = plan_order(order)
            if ended then return struct.pack(CODE_FORMAT, ended) .. value end
            return commit_order(order)
          end
        end
        place_any = make_place()
      end
      done, reply = pcall(place_any, bytes)
    end
    replies[index] = done and reply or struct.pack(CODE_FORMAT, FAILED) .. tostring(reply)
    met = met + makers_met
    if makers_met > 0 and is_in_vain(replies[index]) then
      skipped_makers = skipped_makers .. struct.pack(SKIPPED_MAKERS_FORMAT, index - FIRST_ORDER, makers_met)
    end
  end
end
write_call()
replies[1] = struct.pack(PLACING_REPLY_FORMAT, state.epoch, time) .. skipped_makers
return replies
