#!lua flags=allow-oom
--[[
Begins a new epoch when this server is not the one that the last epoch ran on: started again, restored, or
promoted. Refuses when it has lost events that Postgres has, and an engine of another format.

KEYS  1 engine
ARGV  1 run id of the server  2 epoch and 3 sequence of Postgres' cursor ('' while Postgres is away)
      4 layout of the claim filter of an engine that begins now  5 format of this release
Replies  { open, epoch, sequence, layout of the claim filters } | { behind, epoch, sequence } | { format, its number }
         { unknown } when only Postgres could tell
Trade ids of an epoch begin at epoch * 2^37, order ids carry the epoch: nothing is given out twice.
]]
--- include engine_state

local engine = KEYS[1]
local found = redis.call('HMGET', engine, 'format', 'server', 'state', 'filter')
if found[1] ~= ARGV[5] and redis.call('EXISTS', engine) == 1 then return { 'format', found[1] or '1' } end
local state, filter = decode_state(found[3]), found[4]
if found[2] ~= ARGV[1] then
  if ARGV[3] == '' then return { 'unknown' } end
  if state.sequence < tonumber(ARGV[3]) or state.epoch < tonumber(ARGV[2]) then
    return { 'behind', text(state.epoch), text(state.sequence) }
  end
  if not filter then
    filter = ARGV[4]
    redis.call('HSET', engine, 'filter', filter)
  end
  state.epoch = state.epoch + 1
  state.trade = math.max(state.trade, state.epoch * 137438953472)
  -- Releases of format 1 read `sequence` and `run_id`: they find themselves behind Postgres, and do not open.
  redis.call('HSET', engine, 'format', ARGV[5], 'sequence', '-1', 'server', ARGV[1], 'state', encode_state(state))
end
return { 'open', text(state.epoch), text(state.sequence), filter }
