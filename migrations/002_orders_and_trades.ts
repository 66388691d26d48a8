/**
 * Orders as they stand and trades as they happened, in whole ticks, steps and atoms.
 *
 * Ids are `COLLATE "C"`: compared byte by byte, which is both exact and the fastest there is.
 * `fillfactor` leaves room for the fills of a resting order beside it, so that a fill touches no index.
 */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table orders (
  id                   text collate "C" primary key,
  wallet               text collate "C" not null,
  market               text collate "C" not null,
  side                 text not null check (side in ('buy', 'sell')),
  type                 text not null check (type in ('limit', 'market')),
  time_in_force        text not null,
  post_only            boolean not null,
  leverage             double precision,
  price_ticks          bigint,
  size_steps           bigint not null,
  filled_steps         bigint not null check (filled_steps between 0 and size_steps),
  status               text not null,
  reject_reason        text,
  client_order_id      text collate "C",
  created_at_ms        bigint not null,
  updated_at_ms        bigint not null,
  sequence             bigint not null,
  updated_sequence     bigint not null,
  closed_sequence      bigint,
  base                 text not null,
  quote                text not null,
  base_atoms_per_step  bigint not null,
  quote_atoms_per_lot  bigint not null,
  check ((closed_sequence is null) = (status in ('open', 'resting', 'partially_filled')))
) with (fillfactor = 80);
comment on column orders.sequence is 'Engine event that placed the order.';
comment on column orders.closed_sequence is 'Engine event that ended it; null while it is live.';
comment on column orders.quote_atoms_per_lot is 'Quote atoms of one step at one tick.';

create unique index orders_client_order_id on orders (wallet, client_order_id) where client_order_id is not null;
create index orders_newest on orders (wallet, sequence);
create index orders_closed on orders (closed_sequence);

create table trades (
  trade_id             bigint primary key,
  sequence             bigint not null,
  market               text collate "C" not null,
  taker_side           text not null check (taker_side in ('buy', 'sell')),
  price_ticks          bigint not null,
  size_steps           bigint not null,
  base_atoms           bigint not null,
  notional_atoms       bigint not null,
  fee_atoms            bigint not null,
  taker_order_id       text collate "C" not null,
  maker_order_id       text collate "C" not null,
  taker_wallet         text collate "C" not null,
  maker_wallet         text collate "C" not null,
  time_ms              bigint not null,
  base                 text not null,
  quote                text not null,
  base_atoms_per_step  bigint not null,
  quote_atoms_per_lot  bigint not null
);
comment on column trades.fee_atoms is 'Paid by the taker, in the quote asset.';

create index trades_taker_order on trades (taker_order_id);
create index trades_maker_order on trades (maker_order_id);
create index trades_taker on trades (taker_wallet, market, trade_id);
create index trades_maker on trades (maker_wallet, market, trade_id);
create index trades_market on trades (market, trade_id);
`);
