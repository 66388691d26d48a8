/** The endings of a wallet's orders in the order of their events, and the event with which each epoch began. */

import type { Knex } from 'knex';

/**
 * The index has the orders that ended after their placement and were not filled: what fills an order is a trade. Its
 * columns change only when an order ends, so other changes of a row still touch no index.
 */
export const up = (knex: Knex) =>
  knex.raw(`
create index orders_ended on orders (wallet, closed_sequence)
  where reason is not null and closed_sequence > sequence;

create table epoch_starts (
  epoch    integer primary key,
  sequence bigint not null
);
comment on table epoch_starts is 'The first event of each epoch. An engine that lost events gives their sequences again.';
create trigger append_only before update or delete or truncate on epoch_starts
  for each statement execute function refuse_change();
`);
