/**
 * Tables that public market data is read from: one-minute candles, and the trades of a market by side and time.
 *
 * Sums are `numeric`: a thousand of the largest orders in one minute pass what a bigint holds, and no request of a
 * client may stop settlement.
 */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table candles (
  market         text collate "C" not null,
  open_ms        bigint not null,
  open_ticks     bigint not null,
  high_ticks     bigint not null,
  low_ticks      bigint not null,
  close_ticks    bigint not null,
  volume_steps   numeric not null,
  quote_atoms    numeric not null,
  first_trade_id bigint not null,
  last_trade_id  bigint not null,
  primary key (market, open_ms)
) with (fillfactor = 80);
comment on table candles is 'Executions of a market and minute; minutes without any have no row.';
comment on column candles.quote_atoms is 'Price x size.';

insert into candles
select market, time_ms - time_ms % 60000,
  (min(array[trade_id, price_ticks]))[2], max(price_ticks), min(price_ticks),
  (max(array[trade_id, price_ticks]))[2], sum(size_steps), sum(notional_atoms), min(trade_id), max(trade_id)
from trades group by 1, 2;

-- By side and time, so that no filter of a client walks past more trades than it asks for. Times never run
-- backwards, so this is the order of execution too.
create index trades_public on trades (market, taker_side, time_ms, trade_id);
drop index trades_market;
`);
