local MOST_UNPACKED = 4000 -- unpack fails at 8,000

-- Appends one event and moves the engine's sequence and clock on; the entry is the outbox that
-- settlement reads, so it must hold all that Postgres needs.
-- `wallets`: set of wallets whose lists the event changes; they are indexed until the event is settled.
-- `also`: further fields of the engine hash, written in the same call.
local function emit(keys, state, time, fields, wallets, also)
  state.sequence = state.sequence + 1
  state.time = time
  redis.call('XADD', keys.events, state.epoch .. '-' .. text(state.sequence), 'time', text(time), unpack(fields))
  local stamp = stamp_of(state.epoch, state.sequence)
  local unsettled, index = keys.unsettled[state.unsettled + 1], {}
  for wallet in pairs(wallets) do
    index[#index + 1] = '0'
    index[#index + 1] = wallet .. stamp
    if #index == MOST_UNPACKED then
      redis.call('ZADD', unsettled, unpack(index))
      index = {}
    end
  end
  if #index > 0 then redis.call('ZADD', unsettled, unpack(index)) end
  redis.call('HSET', keys.engine, 'sequence', text(state.sequence), 'time', text(time), unpack(also or {}))
end
