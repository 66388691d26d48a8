--- include append_event
-- Appends one event and moves the engine on.
-- `wallet`: the one whose lists the event changes, or ''; the event is listed under it until it is settled.
-- `also`: further fields of the engine hash, written in the same call.
local function emit(keys, state, time, kind, body, wallet, also)
  append_event(keys.events, state, time, struct.pack('>I1I6', kind, time) .. body)
  if wallet ~= '' then write_unsettled(keys, state, { '0', wallet .. stamp_of(state.epoch, state.sequence) }) end
  redis.call('HSET', keys.engine, 'state', encode_state(state), unpack(also or {}))
end
