-- Returns true when the engine is in the epoch of the call and has the last event that the caller knows. A server that
-- took over older data has the epoch alone.
local function is_known(state, epoch, min_sequence) return state.epoch == epoch and state.sequence >= min_sequence end
