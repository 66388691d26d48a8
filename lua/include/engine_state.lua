--- include exact
-- What every command reads first, in one call: the engine hash holds the epoch, the event sequence and
-- clock, the switches, and per market and wallet only what differs from the default.
local function read_state(engine, market_number, wallet)
  local found = redis.call('HMGET', engine, 'epoch', 'sequence', 'time', 'paused', 'terms', 'trade',
    'version:' .. market_number, 'last:' .. market_number, 'hold:' .. wallet, 'terms:' .. wallet,
    'unsettled', 'claims')
  return {
    epoch = found[1],
    sequence = tonumber(found[2] or 0),
    time = tonumber(found[3] or 0),
    paused = found[4],
    terms = found[5],
    trade = tonumber(found[6] or 0),
    version = found[7],
    last = found[8],
    held = found[9],
    accepted_terms = found[10],
    unsettled = tonumber(found[11] or 0), -- generation of the unsettled index
    claims = tonumber(found[12] or 0), -- generation of the claimed ids
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
