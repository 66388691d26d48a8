#!lua flags=allow-oom
--[[
Takes switches that are due, and ones that were taken by a process that did not end them within its lease. What is
taken is recorded with its cut-off, the last event of this moment: orders of later events stay, however often the
switch is taken again. A wallet whose switch is due while an earlier one is still taken gets the later cut-off, which
covers the earlier.

KEYS  1 engine  2 switches  3 leases  4 cut-offs
ARGV  1 epoch  2 most that are taken  3 lease (ms)
Replies  { taken, time, when the next switch is due ('' for none), when the next lease ends ('' for none),
           { wallet (20), cut-off, … } } | { stale, epoch }
A cut-off is  epoch (2) | sequence (6) | time at which the switch was due (7).
]]
-- Numbers here are doubles: integers are exact below 2^53, and `tostring` keeps 14 digits only.
local EXACT_LIMIT = 9007199254740992 -- 2^53

-- An integer below 2^53 as decimal text. '%d' goes through a 64-bit integer: exact, and twice as fast as '%.0f'.
local function text(integer)
  return string.format('%d', integer)
end

-- Whether decimal text `a` <= decimal text `b`, for non-negative integers of any length.
local function text_at_most(a, b)
  return #a < #b or (#a == #b and a <= b)
end
-- The engine hash holds the epoch, the event sequence and clock, the switches, and per market and wallet only what
-- differs from the default. `unsettled` and `claims` are the current generations of those keys.

-- What every command that writes must know.
local function read_clock(engine)
  local found = redis.call('HMGET', engine, 'epoch', 'sequence', 'time', 'unsettled')
  return { epoch = found[1], sequence = tonumber(found[2] or 0), time = tonumber(found[3] or 0),
    unsettled = tonumber(found[4] or 0) }
end

-- That, and all that the engine holds against one wallet's command on one market, in one call.
local function read_state(engine, market_number, wallet)
  local found = redis.call('HMGET', engine, 'epoch', 'sequence', 'time', 'unsettled', 'paused', 'terms', 'trade',
    'claims', 'version:' .. market_number, 'last:' .. market_number, 'hold:' .. wallet, 'terms:' .. wallet, 'filter',
    'symbol:' .. market_number)
  return {
    epoch = found[1],
    sequence = tonumber(found[2] or 0),
    time = tonumber(found[3] or 0),
    unsettled = tonumber(found[4] or 0),
    paused = found[5],
    terms = found[6],
    trade = tonumber(found[7] or 0),
    claims = tonumber(found[8] or 0),
    version = found[9],
    last = found[10],
    held = found[11],
    accepted_terms = found[12],
    filter = found[13],
    symbol = found[14],
  }
end

-- Unix milliseconds; never earlier than the last event, so that time does not run backwards.
local function event_time(state)
  local now = redis.call('TIME')
  return math.max(now[1] * 1000 + math.floor(now[2] / 1000), state.time)
end

-- epoch (2) | sequence (6): orders by age, and goes on rising after a rebuild.
local function stamp_of(epoch, sequence)
  return struct.pack('>I2I6', epoch, sequence)
end

local switches, leases, cut_offs = KEYS[2], KEYS[3], KEYS[4]
local state = read_clock(KEYS[1])
if state.epoch ~= ARGV[1] then return { 'stale', 'epoch' } end
local time, most = event_time(state), tonumber(ARGV[2])
local lease_end = text(time + tonumber(ARGV[3]))

local function due_in(key, count, ...)
  return redis.call('ZRANGE', key, '-inf', text(time), 'BYSCORE', 'LIMIT', 0, count, ...)
end

local taken, index_of = {}, {}
local function take(wallet, cut_off)
  local index = index_of[wallet] or #taken + 1
  index_of[wallet] = index
  taken[index], taken[index + 1] = wallet, cut_off
  redis.call('ZADD', leases, lease_end, wallet)
end

for _, wallet in ipairs(due_in(leases, most)) do
  local cut_off = redis.call('HGET', cut_offs, wallet)
  if cut_off then take(wallet, cut_off) else redis.call('ZREM', leases, wallet) end
end
local due = due_in(switches, most - #taken / 2, 'WITHSCORES')
for at = 1, #due, 2 do
  local cut_off = stamp_of(state.epoch, state.sequence) .. struct.pack('>I7', tonumber(due[at + 1]))
  redis.call('ZREM', switches, due[at])
  redis.call('HSET', cut_offs, due[at], cut_off)
  take(due[at], cut_off)
end

local function next_of(key)
  return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ''
end
return { 'taken', text(time), next_of(switches), next_of(leases), taken }
