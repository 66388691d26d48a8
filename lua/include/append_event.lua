--- include order_formats
--- define MAX_UNPACKED 4000 (unpack fails at 8,000)

-- Appends one event. Settlement reads the stream, so an event must hold all that Postgres needs.
-- The event is the first write of its operation. Redis refuses it when somebody has put an entry with a higher id into
-- the stream by hand, and keeps every write that a script made before such an error.
-- `bytes`: kind (1) | time in ms (6) | body of the kind.
local function append_event(events, state, time, bytes)
  local sequence = state.sequence + 1
  redis.call('XADD', events, string.format('%d-%d', state.epoch, sequence), 'e', bytes)
  state.sequence, state.time = sequence, time
end

-- Writes to the unsettled index, which lists an event under each wallet whose lists it changes.
-- `key`: the generation that is written now. `index`: scores and members, alternating.
local function write_unsettled(key, index)
  for from = 1, #index, MAX_UNPACKED do
    redis.call('ZADD', key, unpack(index, from, math.min(from + MAX_UNPACKED - 1, #index)))
  end
end
