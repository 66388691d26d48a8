--- include event_kinds
local MOST_UNPACKED = 4000 -- unpack fails at 8,000

-- Appends one event; the entry is the outbox that settlement reads, so it must hold all that Postgres needs:
--   kind (1) | time in ms (6) | what the kind says
local function append_event(keys, state, time, kind, body)
  state.sequence = state.sequence + 1
  state.time = time
  redis.call('XADD', keys.events, text(state.epoch) .. '-' .. text(state.sequence), 'e',
    struct.pack('>I1I6', EVENT_KINDS[kind], time) .. body)
end

-- Lists the last event among the unsettled ones of a wallet, in `index`, which write_unsettled writes.
local function index_event(index, stamp, wallet)
  index[#index + 1] = '0'
  index[#index + 1] = wallet .. stamp
end

local function write_unsettled(keys, state, index)
  for from = 1, #index, MOST_UNPACKED do
    redis.call('ZADD', keys.unsettled[state.unsettled + 1], unpack(index, from, math.min(from + MOST_UNPACKED - 1, #index)))
  end
end

-- Appends one event and moves the engine on.
-- `wallet`: the one whose lists the event changes, or ''; the event is listed under it until it is settled.
-- `also`: further fields of the engine hash, written in the same call.
local function emit(keys, state, time, kind, body, wallet, also)
  append_event(keys, state, time, kind, body)
  if wallet ~= '' then
    local index = {}
    index_event(index, stamp_of(state.epoch, state.sequence), wallet)
    write_unsettled(keys, state, index)
  end
  redis.call('HSET', keys.engine, 'state', encode_state(state), unpack(also or {}))
end
