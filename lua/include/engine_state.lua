--- include exact
--- include order_formats
-- Fields of the engine hash. A switch, hold or other field of a market or wallet is absent while it has its default:
--   format         number of this layout
--   state          epoch (2) | sequence of the last event (6) | its time in ms (6) | last trade id (7)
--                  | generation of `unsettled` (1) | generation of `claims` (1), big-endian
--   server         run id of the server that the epoch began on
--   begins         the next epoch and the run id of its server, while Postgres has no note of it
--   rules:<n>      version and symbol of the market with the number n, separated by a space
--   last:<n>       last price of that market in ticks
--   taken:<reference>  who pays a pending withdrawal, as JSON
--   hold:<wallet>  terms:<wallet>  paused  terms  filter  settled  mark  switch_clock …

-- `found`: the field `state`; an engine that was never opened has none.
local function decode_state(found)
  if not found then return { epoch = 0, sequence = 0, time = 0, trade = 0, unsettled = 0, claims = 0 } end
  local STATE_FIELDS = struct.unpack(STATE_FORMAT, found)
  return { epoch = epoch, sequence = sequence, time = time, trade = trade, unsettled = unsettled, claims = claims }
end

local function encode_state(state)
  return struct.pack(STATE_FORMAT, state.epoch, state.sequence, state.time, state.trade, state.unsettled, state.claims)
end

-- Unix milliseconds by Redis' clock, which may step in both directions.
local function server_time()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

-- Unix milliseconds by Redis' clock; never earlier than the last event, so that time does not run backwards.
local function event_time(state) return math.max(server_time(), state.time) end

-- Returns epoch (2) | sequence (6). Stamps sort by age, and continue to rise after a rebuild.
local function stamp_of(epoch, sequence) return struct.pack(STAMP_FORMAT, epoch, sequence) end
