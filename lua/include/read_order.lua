-- Fields of the call that only the whole command needs.
local _, _, _, _, _, self_trade, min_steps, max_steps, has_reference = struct.unpack(CALL, ARGV[1])
local keys = {
  engine = KEYS[1], events = KEYS[EVENTS], book = { [BUY] = KEYS[BOOK], [SELL] = KEYS[BOOK + 1] }, live = KEYS[LIVE],
  unsettled = { KEYS[UNSETTLED], KEYS[UNSETTLED + 1] }, markets = KEYS[MARKETS],
}
local base, quote = amounts_of(KEYS[BASE]), amounts_of(KEYS[QUOTE])
local levels = { [BUY] = amounts_of(KEYS[LEVELS]), [SELL] = amounts_of(KEYS[LEVELS + 1]) }
local symbol = string.match(rules, ' (.+)$')
local prefixes = { [BUY] = book_prefix(market_number, BUY), [SELL] = book_prefix(market_number, SELL) }

local function read_order(bytes)
  local wallet, _, side, kind, time_in_force, post_only, _, price, client_id, amount, restricted, checked_at, filter,
    next_filter, mask, digest, first, last, next_first, next_last = struct.unpack(ORDER, bytes)
  return {
    wallet = wallet, side = side, kind = kind, time_in_force = time_in_force, post_only = post_only == 1,
    restricted = restricted == 1, price = kind == LIMIT_ORDER and price, size = kind ~= MARKET_FOR_BUDGET and amount,
    budget = kind == MARKET_FOR_BUDGET and amount, client_id = client_id, terms = string.sub(bytes, 1, TERMS_BYTES + #client_id),
    claim = client_id ~= '' and {
      field = digest, filter = KEYS[FIRST_FILTER + filter], first = first, last = last, mask = mask,
      checked_at = checked_at, next_filter = next_filter > 0 and KEYS[FIRST_FILTER + next_filter - 1],
      next_first = next_first, next_last = next_last,
    },
  }
end
