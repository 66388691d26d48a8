/** Seams of the ledger: events that no copy of it has, and the state of the engine that followed them. */

import type { Knex } from 'knex';

/** The tables are empty in a ledger that never lost an event, and small in all others. */
export const up = (knex: Knex) =>
  knex.raw(`
create table adoptions (
  sequence       bigint primary key,
  after_sequence bigint not null,
  last_trade_id  bigint not null,
  time_ms        bigint not null,
  check (sequence > after_sequence)
);
comment on table adoptions is 'Seams: events after after_sequence, up to sequence, are lost. Rows of these events were written as of the state of the engine.';
comment on column adoptions.last_trade_id is 'The last trade id that the engine had given out by then.';

create table adopted_balances (
  account      text collate "C" not null,
  sequence     bigint not null,
  asset        text collate "C" not null,
  line         integer not null,
  amount_atoms bigint not null check (amount_atoms <> 0),
  time_ms      bigint not null,
  primary key (account, sequence, asset)
);
comment on table adopted_balances is 'What the lost events of a seam changed of each account, in sum.';

create table adopted_fills (
  order_id text collate "C" not null,
  sequence bigint not null,
  steps    bigint not null check (steps > 0),
  time_ms  bigint not null,
  primary key (order_id, sequence)
);
comment on table adopted_fills is 'Steps of an order that lost trades filled. A lost order whose size is unknown has one.';

create table adopted_prices (
  market      text collate "C" not null,
  sequence    bigint not null,
  price_ticks bigint not null,
  time_ms     bigint not null,
  primary key (market, sequence)
);
comment on table adopted_prices is 'The price of the last trade of a market, where the trade is lost.';

alter table ledger_entries drop constraint ledger_entries_kind_check;
alter table ledger_entries add check
  (kind in ('trade', 'fee', 'credit', 'debit', 'request', 'confirm', 'return', 'adopt')) not valid;

create trigger append_only before update or delete or truncate on adoptions
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on adopted_balances
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on adopted_fills
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on adopted_prices
  for each statement execute function refuse_change();
`);

/** To validate a constraint reads a large table, and lets everybody else write it. */
export const beside = ['movements', 'ledger_entries'].map((table) => ({
  what: `check of the kinds in ${table}`,
  isLeft: `select not convalidated as left from pg_constraint where conname = '${table}_kind_check'`,
  step: `alter table ${table} validate constraint ${table}_kind_check`,
}));
