#!lua flags=allow-oom
--[[
Begins a new epoch when this server is not the one that the last epoch ran on, because it was started again, restored or
promoted. Refuses a server that has lost events that Postgres has, and an engine of another format. A server that runs
on may have lost events too: a replica takes over the data of its primary, and may become a primary again.

KEYS  engine
      of_copies...    the list of copies and the key of their rounds, only where the engine has copies
ARGV  run_id          run id of the server
      epoch           epoch of Postgres' cursor; '' while Postgres is away
      sequence        sequence of Postgres' cursor; '' while Postgres is away
      filter_layout   layout of the claim filter of an engine that begins now
      format          format of this release
      rewritten       '1' once this server was told to rewrite its append-only file; else ''
      begun_epoch     the highest epoch that Postgres has noted; 0 when it has none, '' while it is away
      begun_server    run id under which that epoch is noted; else ''
Replies  { open, epoch, layout of the claim filters }
         { begins, epoch, '1' when this engine lacks the noted epoch, else '' }: it opens when Postgres has its note
         { behind, epoch, sequence } | { format, its number or '' } | { exhausted } when all epochs have gone by
         { unknown } when only Postgres could tell | { rewrite } when the file must be rewritten first
A server whose file ended within a transaction drops what it read of it, and leaves its beginning in the file. Whatever
is appended then would complete it at the next start, and a part of an order would be applied. A rewritten file begins
with the present state. It is rewritten only here, where the state is known to be as new as Postgres.
Trade ids of an epoch begin at epoch * 2^37, and order ids carry the epoch, so no id is given out twice. A server that
lacks the noted epoch, or has another one under its number, begins one after it. An epoch is in the state once Postgres
has its note: until then another server could begin it, and this one may begin it again.
]]
--- include engine_state
--- define TRADES_PER_EPOCH 137438953472 (2^37)
--- define MAX_EPOCH 65279 (see prefix_range.lua)

local engine, list, rounds = KEYS.engine, KEYS[POSITION(KEYS.of_copies)], KEYS[POSITION(KEYS.of_copies) + 1]
local found = redis.call('HMGET', engine, 'format', 'server', 'state', 'filter', 'begins')
if found[1] ~= ARGV.format and redis.call('EXISTS', engine) == 1 then return { 'format', found[1] or '' } end
local server, state, filter = found[2], decode_state(found[3]), found[4]
if ARGV.sequence ~= '' and (state.sequence < tonumber(ARGV.sequence) or state.epoch < tonumber(ARGV.epoch)) then
  return { 'behind', text(state.epoch), text(state.sequence) }
end
local begun = tonumber(ARGV.begun_epoch) or 0
-- The noted epoch begins here, and nobody has traded in it.
local is_noted = found[5] == ARGV.begun_epoch .. ' ' .. ARGV.begun_server
local is_others = begun > 0 and begun == state.epoch and server ~= ARGV.begun_server
local lacks = not is_noted and (begun > state.epoch or is_others)
if is_noted and ARGV.begun_server == ARGV.run_id then
  state.epoch = begun
  state.trade = math.max(state.trade, state.epoch * TRADES_PER_EPOCH)
  redis.call('HSET', engine, 'state', encode_state(state), 'server', ARGV.run_id)
  redis.call('HDEL', engine, 'begins')
  if list then
    redis.call('HSET', list, 'epoch', begun)
    redis.call('HDEL', rounds, 'verified')
  end
elseif server ~= ARGV.run_id or lacks then
  if ARGV.sequence == '' then return { 'unknown' } end
  if server and ARGV.rewritten ~= '1' then return { 'rewrite' } end
  local epoch = math.max(state.epoch, begun) + 1
  if epoch > MAX_EPOCH then return { 'exhausted' } end
  redis.call('HSET', engine, 'format', ARGV.format, 'begins', text(epoch) .. ' ' .. ARGV.run_id)
  if not filter then redis.call('HSET', engine, 'filter', ARGV.filter_layout) end
  return { 'begins', text(epoch), lacks and '1' or '' }
end
return { 'open', text(state.epoch), filter }
