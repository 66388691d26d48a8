#!lua flags=no-writes
--[[
Finds a page of the live orders of a wallet, in one market or in all. Orders keep their place in the list, so pages that
are read one after the other miss none.

KEYS  engine, live
ARGV  epoch
      min_sequence    sequence of the last event that the caller knows of this engine
      wallet          20 bytes
      market_number   '' for all markets
      after           reference that ended the page before; '' for the first page
      count           maximum orders of a page
Replies  { found, stamp of the engine's last event, references (17 each) together } | { stale, epoch }
]]
--- include engine_state
--- include known_engine
--- include prefix_range
--- include place_in_book
--- define REFERENCE_BEGINS 21
--- define REFERENCE_ENDS 37

local state = decode_state(redis.call('HGET', KEYS.engine, 'state'))
if not is_known(state, tonumber(ARGV.epoch), tonumber(ARGV.min_sequence)) then return { 'stale', 'epoch' } end
local from, to = ARGV.wallet, ARGV.wallet .. PREFIX_END
if ARGV.market_number ~= '' then
  from, to =
    ARGV.wallet .. book_prefix(ARGV.market_number, BUY), ARGV.wallet .. book_prefix(ARGV.market_number + 1, BUY)
end
from = ARGV.after == '' and '[' .. from or '(' .. ARGV.wallet .. ARGV.after .. PREFIX_END
local references = redis.call('ZRANGE', KEYS.live, from, '(' .. to, 'BYLEX', 'LIMIT', 0, ARGV.count)
for index, member in ipairs(references) do
  references[index] = string.sub(member, REFERENCE_BEGINS, REFERENCE_ENDS)
end
return { 'found', stamp_of(state.epoch, state.sequence), table.concat(references) }
