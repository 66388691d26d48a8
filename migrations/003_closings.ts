/** Closings of months, balances of days, and the indexes from which statements are read. */

import type { Knex } from 'knex';

/**
 * A statement starts from the nearest kept balances, so its cost follows the days since and not the history. Balances
 * of days are thrown away once a closing holds the month.
 */
export const up = (knex: Knex) =>
  knex.raw(`
create table closings (
  month     text collate "C" primary key check (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  end_ms    bigint not null unique,
  sequence  bigint not null,
  digest    bytea not null,
  closed_at timestamptz not null default clock_timestamp()
);
comment on table closings is 'Months (UTC) that were closed.';
comment on column closings.sequence is 'The last booked event before the end; 0: none.';
comment on column closings.digest is 'SHA-256 of the balances of the closing.';

create table closing_balances (
  month          text collate "C" not null,
  account        text collate "C" not null,
  asset          text collate "C" not null,
  total_atoms    numeric not null,
  reserved_atoms numeric not null,
  primary key (month, account, asset)
);
comment on table closing_balances is 'Balances of all accounts at the end of a closed month, without those of nothing.';

create table daily_balances (
  end_ms      bigint not null,
  account     text collate "C" not null,
  asset       text collate "C" not null,
  total_atoms numeric not null,
  sequence    bigint not null,
  primary key (end_ms, account, asset)
);
comment on table daily_balances is 'Balances of all accounts at midnight (UTC), from which later ones are summed.';

create trigger append_only before update or delete or truncate on closings
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on closing_balances
  for each statement execute function refuse_change();

-- Deposits and withdrawals of a wallet, for its statement.
create index movements_of_wallet on movements (wallet, sequence);
-- Orders that were live at a time. Rows lie in the order of placing, so the ranges of a few pages are narrow.
create index orders_by_time on orders using brin (created_at_ms, updated_at_ms) with (autosummarize = on);
`);
