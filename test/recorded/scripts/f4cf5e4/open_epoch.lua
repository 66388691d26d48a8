#!lua flags=allow-oom
--[[
Begins a new epoch when this server is not the one that the last epoch ran on: started again, restored, or
promoted. Refuses when it has lost events that Postgres has.

KEYS  1 engine
ARGV  1 run id of the server  2 epoch and 3 sequence of Postgres' cursor ('' while Postgres is away)
      4 layout of the claim filter of an engine that begins now
Replies  { open, epoch, sequence, layout of the claim filters ('' when older than such layouts) } | { behind, epoch, sequence } | { unknown } when only Postgres could tell
Trade ids of an epoch begin at epoch * 2^37, order ids carry the epoch: nothing is given out twice.
]]
-- Numbers here are doubles: integers are exact below 2^53, and `tostring` keeps 14 digits only.
local EXACT_LIMIT = 9007199254740992 -- 2^53

-- An integer below 2^53 as decimal text. '%d' goes through a 64-bit integer: exact, and twice as fast as '%.0f'.
local function text(integer)
  return string.format('%d', integer)
end

-- Whether decimal text `a` <= decimal text `b`, for non-negative integers of any length.
local function text_at_most(a, b)
  return #a < #b or (#a == #b and a <= b)
end

local found = redis.call('HMGET', KEYS[1], 'run_id', 'epoch', 'sequence', 'trade', 'filter')
local filter = found[5] or ''
local epoch, sequence, trade = tonumber(found[2] or 0), tonumber(found[3] or 0), tonumber(found[4] or 0)
if found[1] ~= ARGV[1] then
  if ARGV[3] == '' then return { 'unknown' } end
  if sequence < tonumber(ARGV[3]) or epoch < tonumber(ARGV[2]) then
    return { 'behind', text(epoch), text(sequence) }
  end
  if epoch == 0 then
    filter = ARGV[4]
    redis.call('HSET', KEYS[1], 'filter', filter)
  end
  epoch = epoch + 1
  redis.call('HSET', KEYS[1], 'run_id', ARGV[1], 'epoch', text(epoch), 'sequence', text(sequence),
    'trade', text(math.max(trade, epoch * 137438953472)))
end
return { 'open', text(epoch), text(sequence), filter }
