local keys = {
  engine = KEYS.engine,
  events = KEYS.events,
  book = { [BUY] = KEYS.bids, [SELL] = KEYS.asks },
  live = KEYS.live,
  unsettled = { KEYS.unsettled_0, KEYS.unsettled_1 },
  markets = KEYS.markets,
}
local base, quote = amounts_of(KEYS.base_balances), amounts_of(KEYS.quote_balances)
local levels = { [BUY] = amounts_of(KEYS.bid_levels), [SELL] = amounts_of(KEYS.ask_levels) }
local symbol = string.match(rules, ' (.+)$')
local prefixes = { [BUY] = book_prefix(market_number, BUY), [SELL] = book_prefix(market_number, SELL) }

local function read_order(bytes)
  local ORDER_FIELDS = struct.unpack(ORDER_FORMAT, bytes)
  return {
    wallet = wallet,
    side = side,
    kind = kind,
    time_in_force = time_in_force,
    post_only = post_only == 1,
    restricted = restricted == 1,
    expires_after = expires_after,
    replaces = replaces,
    price = kind == LIMIT_ORDER and price,
    size = kind ~= MARKET_FOR_BUDGET and amount,
    budget = kind == MARKET_FOR_BUDGET and amount,
    client_id = client_id,
    terms = string.sub(bytes, 1, TERMS_BYTES + #client_id),
    claim = client_id ~= '' and {
      field = digest,
      filter = KEYS[FIRST_FILTER + filter],
      first = first,
      last = last,
      mask = mask,
      checked_at = checked_at,
    },
  }
end
