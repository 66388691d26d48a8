--- include event_kinds
--- define MOST_UNPACKED 4000 (unpack fails at 8,000)

-- Appends one event; the entry is the outbox that settlement reads, so it must hold all that Postgres needs.
-- `bytes`: kind (1) | time in ms (6) | what the kind says.
local function append_event(events, state, time, bytes)
  local sequence = state.sequence + 1
  redis.call('XADD', events, string.format('%d-%d', state.epoch, sequence), 'e', bytes)
  state.sequence, state.time = sequence, time
end

-- `index`: scores and members of the unsettled index, which lists an event under each wallet whose lists it changes.
local function write_unsettled(keys, state, index)
  for from = 1, #index, MOST_UNPACKED do
    redis.call('ZADD', keys.unsettled[state.unsettled + 1], unpack(index, from, math.min(from + MOST_UNPACKED - 1, #index)))
  end
end

-- Appends one event and moves the engine on.
-- `wallet`: the one whose lists the event changes, or ''; the event is listed under it until it is settled.
-- `also`: further fields of the engine hash, written in the same call.
local function emit(keys, state, time, kind, body, wallet, also)
  append_event(keys.events, state, time, struct.pack('>I1I6', kind, time) .. body)
  if wallet ~= '' then write_unsettled(keys, state, { '0', wallet .. stamp_of(state.epoch, state.sequence) }) end
  redis.call('HSET', keys.engine, 'state', encode_state(state), unpack(also or {}))
end
