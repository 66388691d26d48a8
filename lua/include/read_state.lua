--- include engine_state
local function read_state(engine) return decode_state(redis.call('HGET', engine, 'state')) end
