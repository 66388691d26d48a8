--- include append_event
-- Appends one event and writes the engine's new state. A script calls it before it writes anything else: append_event
-- may fail.
-- `wallet`: the wallet whose lists the event changes, or ''; the event is listed under it until it is settled.
-- `also`: fields and values of the engine hash that are written with the state.
local function emit(keys, state, time, kind, body, wallet, also)
  append_event(keys.events, state, time, struct.pack(EVENT_FORMAT, kind, time) .. body)
  if wallet ~= '' then
    write_unsettled(keys.unsettled[state.unsettled + 1], { '0', wallet .. stamp_of(state.epoch, state.sequence) })
  end
  redis.call('HSET', keys.engine, 'state', encode_state(state), unpack(also or {}))
end
