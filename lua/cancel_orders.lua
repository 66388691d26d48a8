#!lua flags=allow-oom
--[[
Takes live orders of one market off the book and releases what they hold, request by request. Skips orders that are not
live any more, and orders of another wallet than the one that asks. Every request is atomic by itself: a request that
fails writes nothing and does not affect the others. The script stops before the next request once the requests
before have named as many orders as the call says.

KEYS  engine, events, bids, asks, base_balances, quote_balances, live, unsettled_0, unsettled_1, bid_levels, ask_levels
ARGV  call          `src/engine/cancelling-call.ts` describes its bytes
      requests...   the bytes of each are described there
Replies  { epoch and time, an outcome for each request } as bytes described there
Events   an orders_closed for each request that closed any
]]
--- include exact
--- include place_in_book
--- include engine_state
--- include known_engine
--- include append_event
--- include closed_record
--- include amounts
--- include market_keys
--- define FIRST_REQUEST POSITION(ARGV.requests)

-- Codes of `src/engine/cancelling-call.ts`.
--- define UNTOUCHED 0
--- define CLOSED 1
--- define STALE 2
--- define CORRUPT 3
--- define FAILED 4

local CANCELLING_CALL_FIELDS = struct.unpack(CANCELLING_CALL_FORMAT, ARGV.call)
local found = redis.call('HMGET', KEYS.engine, 'state', 'rules:' .. market_number)
local state, rules_in_force = decode_state(found[1]), found[2]
local is_current = is_known(state, epoch, min_sequence)
local time, unsettled = event_time(state), {}

--- include held_atoms

-- Balances of the asset that orders of a side hold, and levels of the side.
local function balances_of(side) return amounts_of(KEYS[QUOTE - side]) end
local function levels_of(side) return amounts_of(KEYS[LEVELS + side]) end

-- Returns the live order that a reference names, or nil: its side, member and wallet, its remaining steps and the atoms
-- that it holds. `owner`: '' for any wallet.
local function find(reference, owner)
  local side, place = string.byte(reference, 2) % 2, string.sub(reference, 3)
  local member = redis.call('ZRANGE', KEYS[BOOK + side], '[' .. place, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
  if not member or string.sub(member, 1, 15) ~= place then return nil end
  local key, wallet, left = struct.unpack(MEMBER_FORMAT, member)
  if owner ~= '' and wallet ~= owner then return nil end
  return side, member, wallet, left, held_atoms(side, price_key(side, key), left)
end

-- Takes one order off the book and releases what it holds. Nothing here may fail: its event is appended.
local function write_closed(side, member, wallet, left, held, live)
  redis.call('ZREM', KEYS[BOOK + side], member)
  redis.call('ZREM', KEYS.live, live)
  add_to(levels_of(side), string.sub(member, 1, 7), -left)
  add_to(balances_of(side), wallet .. RESERVED, -held)
  add_to(balances_of(side), wallet .. AVAILABLE, held)
end

-- Appends the event of a request and returns its outcome. Comes before write_closed, because the event may be refused.
-- `closed`: closed records of the orders. `wallets`: their wallets, each once.
local function record_closed(cause, closed, wallets)
  append_event(KEYS.events, state, time, struct.pack(CLOSED_EVENT_FORMAT, ORDERS_CLOSED, time, cause) .. closed)
  local stamp, count = stamp_of(state.epoch, state.sequence), #unsettled
  for _, wallet in ipairs(wallets) do
    unsettled[count + 1], unsettled[count + 2], count = '0', wallet .. stamp, count + 2
  end
  return struct.pack(CODE_AND_SEQUENCE_FORMAT, CLOSED, state.sequence) .. closed
end

-- Returns the outcome of a request for one order, as most requests are. Returns nil, with nothing written, for any
-- other request and when it does not fit: close_any decides then.
local function close_fast(owner, cause, references)
  if #references ~= 17 or rules ~= rules_in_force then return nil end
  local side, member, wallet, left, held = find(references, owner)
  local live = side and live_record(KEYS.live, wallet .. references)
  if not live then return nil end
  local balances, levels = balances_of(side), levels_of(side)
  ask(balances, wallet .. RESERVED)
  ask(balances, wallet .. AVAILABLE)
  ask(levels, string.sub(member, 1, 7))
  read_asked(balances)
  read_asked(levels)
  if not all_are_numbers or balances.at[wallet .. RESERVED] < held then return nil end
  local outcome = record_closed(cause, closed_record(live, filled_of(live, left)), { wallet })
  write_closed(side, member, wallet, left, held, live)
  return outcome
end

local replies, met = { '' }, 0
local close_any -- closes any request; made when the first such request comes
for index = FIRST_REQUEST, #ARGV do
  local CANCELLING_REQUEST_FIELDS = struct.unpack(CANCELLING_REQUEST_FORMAT, ARGV[index])
  if any == 1 then owner = '' end
  if met >= max_orders then
    replies[index] = struct.pack(CODE_FORMAT, UNTOUCHED)
  elseif not is_current then
    replies[index] = struct.pack(CODE_FORMAT, STALE) .. 'epoch'
  else
    local done, reply = pcall(close_fast, owner, cause, references)
    if done and not reply then
      if not close_any then
        local function make_close_any()
          --- include exact_sum
          --- include close_any
          return close_all
        end
        close_any = make_close_any()
      end
      done, reply = pcall(close_any, owner, cause, references)
    end
    replies[index] = done and reply or struct.pack(CODE_FORMAT, FAILED) .. tostring(reply)
    met = met + #references / 17
  end
end
for side = BUY, SELL do
  if opened[KEYS[QUOTE - side]] then write_amounts(opened[KEYS[QUOTE - side]], false) end
  if opened[KEYS[LEVELS + side]] then write_amounts(opened[KEYS[LEVELS + side]], true) end
end
if #unsettled > 0 then
  write_unsettled(KEYS[UNSETTLED + state.unsettled], unsettled)
  redis.call('HSET', KEYS.engine, 'state', encode_state(state))
end
replies[1] = struct.pack(PLACING_REPLY_FORMAT, state.epoch, time)
return replies
