#!lua flags=allow-oom
--[[
Lets go of what Postgres has: events some seconds after they were settled, so that a read under way still
finds them, and whole generations of the unsettled index and of the claimed ids.

A generation is dropped when all that was written into it is settled, and has been for the given time: at each
turn the engine notes the sequence; the generation that ended there is ready once that sequence is settled.

KEYS  1 engine  2 events  3 unsettled 0  4 unsettled 1  5 claims 0  6 claims 1
ARGV  1 epoch and 2 sequence of Postgres' cursor  3 how long settled events stay (ms)  4 how long claims stay (ms)
Replies  the number of events taken off the stream
]]
--- include read_state

local state = read_state(KEYS[1])
local settled = tonumber(ARGV[2])
if settled > state.sequence then return redis.error_reply('AHEAD Postgres has events that this engine never had') end
local now = redis.call('TIME')
local time = now[1] * 1000 + math.floor(now[2] / 1000)

-- Drops the older generation of `name` when its time has come; `generations` are its two keys.
local function turn(name, generations, stay)
  local found = redis.call('HMGET', KEYS[1], name .. ':turned_at', name .. ':ready_at')
  local current, turned_at, ready_at = state[name], tonumber(found[1] or 0), tonumber(found[2])
  if settled < turned_at then return end
  if not ready_at then
    redis.call('HSET', KEYS[1], name .. ':ready_at', text(time))
  elseif time - ready_at >= stay then
    redis.call('UNLINK', generations[2 - current])
    state[name] = 1 - current
    redis.call('HSET', KEYS[1], 'state', encode_state(state), name .. ':turned_at', text(state.sequence))
    redis.call('HDEL', KEYS[1], name .. ':ready_at')
  end
end

turn('unsettled', { KEYS[3], KEYS[4] }, tonumber(ARGV[3]))
turn('claims', { KEYS[5], KEYS[6] }, tonumber(ARGV[4]))

-- Events: what was settled at the last mark goes, once the mark is old enough.
local mark = redis.call('HMGET', KEYS[1], 'mark', 'mark:at')
local gone = 0
if not mark[1] or time - tonumber(mark[2]) >= tonumber(ARGV[3]) then
  if mark[1] then gone = redis.call('XTRIM', KEYS[2], 'MINID', '=', mark[1]) end
  redis.call('HSET', KEYS[1], 'mark', ARGV[1] .. '-' .. ARGV[2], 'mark:at', text(time))
end
redis.call('HSET', KEYS[1], 'settled', ARGV[2])
return gone
