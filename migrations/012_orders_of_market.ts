/**
 * Indexes of a wallet's orders in one market, for lists of one market. Those of all its markets keep their own: a list
 * of all orders would otherwise walk every market. The market comes first: Postgres, before it has statistics, would take
 * the index on (wallet, sequence) for a list of one market and read all orders of the wallet.
 */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
-- Settlement skips its turn while this row is locked.
select from engine_cursor for update;

create index orders_live_of_market on orders (market, wallet, sequence) where closed_sequence is null;
create index orders_closed_of_market on orders (market, wallet, sequence) where closed_sequence is not null;
`);
