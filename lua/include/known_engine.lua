-- Returns true when the engine is in the epoch of the call and has the last event that the caller knows. A server that
-- took over older data has the epoch alone.
local function is_known(state, epoch, least_sequence)
  return state.epoch == epoch and state.sequence >= least_sequence
end
