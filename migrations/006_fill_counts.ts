/**
 * The number of fills of each order, and indexes that read one page of orders or of fills.
 *
 * A release before this one does not know the column. While one settles, in a rolling upgrade or after a roll back,
 * the trigger counts in its place. Settlement of this release sets `redbook.counts_fills`, which turns the trigger off.
 */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
-- Settlement skips its turn while this row is locked, so no trade is written between the count and the trigger.
select from engine_cursor for update;

alter table orders add column fill_count bigint not null default 0;
comment on column orders.fill_count is 'Trades the order took part in, as taker or maker.';

update orders set fill_count = counted.fills
from (
  select id, count(*) as fills
  from (select taker_order_id as id from trades union all select maker_order_id from trades) as sides
  group by id
) as counted
where orders.id = counted.id;

create function count_fills() returns trigger language plpgsql as $$
begin
  update orders
  set fill_count = (select count(*) from trades where taker_order_id = orders.id)
    + (select count(*) from trades where maker_order_id = orders.id)
  from (select taker_order_id as id from added union select maker_order_id from added) as filled
  where orders.id = filled.id;
  return null;
end $$;
create trigger count_fills after insert on trades referencing new table as added for each statement
  when (current_setting('redbook.counts_fills', true) is distinct from 'on') execute function count_fills();

-- The fills of an order in the order of execution, from either end.
create index trades_of_taker_order on trades (taker_order_id, trade_id);
create index trades_of_maker_order on trades (maker_order_id, trade_id);
drop index trades_taker_order;
drop index trades_maker_order;

-- A page of live orders walks past no closed ones, and a page of closed orders past no live ones.
create index orders_live_newest on orders (wallet, sequence) where closed_sequence is null;
create index orders_closed_newest on orders (wallet, sequence) where closed_sequence is not null;
`);
