-- The first byte of an event. `src/engine/event-codec.ts` has the same list.
local EVENT_KINDS = {
  order_placed = 1, orders_closed = 2, credited = 3, debited = 4, account_held = 5, account_released = 6,
  terms_accepted = 7, terms_required = 8, trading_paused = 9, trading_resumed = 10, market_changed = 11,
  asset_changed = 12,
}
