#!lua flags=allow-oom
--[[
Begins a new epoch when this server is not the one that the last epoch ran on, because it was started again, restored or
promoted. Refuses a server that has lost events that Postgres has, and an engine of another format. A server that runs
on may have lost events too: a replica takes over the data of its primary, and may become a primary again.

KEYS  engine
ARGV  run_id          run id of the server
      epoch           epoch of Postgres' cursor; '' while Postgres is away
      sequence        sequence of Postgres' cursor; '' while Postgres is away
      filter_layout   layout of the claim filter of an engine that begins now
      format          format of this release
      rewritten       '1' once this server was told to rewrite its append-only file; else ''
      begun_epoch     the highest epoch that Postgres has noted; 0 when it has none, '' while it is away
      begun_server    run id under which that epoch is noted; else ''
Replies  { open, epoch, layout of the claim filters }
         { begun, epoch, '1' when this engine lacks the noted epoch, else '' }: it opens when Postgres has its note
         { behind, epoch, sequence } | { format, its number or '' } | { exhausted } when all epochs have gone by
         { unknown } when only Postgres could tell | { rewrite } when the file must be rewritten first
A server whose file ended within a transaction drops what it read of it, and leaves its beginning in the file. Whatever
is appended then would complete it at the next start, and a part of an order would be applied. A rewritten file begins
with the present state. It is rewritten only here, where the state is known to be as new as Postgres.
Trade ids of an epoch begin at epoch * 2^37, and order ids carry the epoch, so no id is given out twice. A server that
lacks the noted epoch, or has another one under its number, begins one after it. An epoch without a note is closed, also
to processes that cannot ask Postgres: another server could begin it again.
]]
--- include engine_state
--- define TRADES_PER_EPOCH 137438953472 (2^37)
--- define MAX_EPOCH 65279 (see prefix_range.lua)

local engine = KEYS.engine
local found = redis.call('HMGET', engine, 'format', 'server', 'state', 'filter')
if found[1] ~= ARGV.format and redis.call('EXISTS', engine) == 1 then return { 'format', found[1] or '' } end
local state, filter = decode_state(found[3]), found[4]
if ARGV.sequence ~= '' and (state.sequence < tonumber(ARGV.sequence) or state.epoch < tonumber(ARGV.epoch)) then
  return { 'behind', text(state.epoch), text(state.sequence) }
end
local begun = tonumber(ARGV.begun_epoch) or 0
-- The run id stands behind this word until Postgres has the note.
local server, is_closed = string.gsub(found[2] or '', '^noting ', '')
local lacks = begun > state.epoch or begun == state.epoch and begun > 0 and server ~= ARGV.begun_server
if server ~= ARGV.run_id or lacks then
  if ARGV.sequence == '' then return { 'unknown' } end
  if found[2] and ARGV.rewritten ~= '1' then return { 'rewrite' } end
  if math.max(state.epoch, begun) >= MAX_EPOCH then return { 'exhausted' } end
  if not filter then
    filter = ARGV.filter_layout
    redis.call('HSET', engine, 'filter', filter)
  end
  state.epoch = math.max(state.epoch, begun) + 1
  state.trade = math.max(state.trade, state.epoch * TRADES_PER_EPOCH)
  redis.call(
    'HSET', engine, 'format', ARGV.format, 'state', encode_state(state), 'server', 'noting ' .. ARGV.run_id)
  return { 'begun', text(state.epoch), lacks and '1' or '' }
end
if is_closed > 0 then
  if ARGV.sequence == '' then return { 'unknown' } end
  if begun < state.epoch then return { 'begun', text(state.epoch), '' } end
  redis.call('HSET', engine, 'server', server)
end
return { 'open', text(state.epoch), filter }
