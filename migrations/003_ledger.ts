/**
 * The double-entry ledger. Every transaction sums to zero in every asset; what is written once stays.
 *
 * Accounts are wallets, `house` (fees earned) and `custody` (the world outside: what was deposited is
 * owed to it, so its balance is the negative of what the service holds).
 */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table movements (
  sequence     bigint primary key,
  kind         text not null check (kind in ('credited', 'debited')),
  wallet       text collate "C" not null,
  asset        text collate "C" not null,
  amount_atoms bigint not null,
  reference    text collate "C" not null,
  time_ms      bigint not null,
  unique (kind, reference)
);
comment on table movements is 'Deposits and withdrawals; a reference counts once a kind.';

create table ledger_entries (
  sequence       bigint not null,
  line           integer not null,
  transaction_id text collate "C" not null,
  kind           text not null check (kind in ('trade', 'fee', 'credit', 'debit')),
  account        text collate "C" not null,
  asset          text collate "C" not null,
  amount_atoms   bigint not null check (amount_atoms <> 0),
  reference      text collate "C" not null,
  time_ms        bigint not null,
  primary key (sequence, line)
);
comment on table ledger_entries is 'Entry id: engine event and line in it. Same events, same entries, however they were batched.';
comment on column ledger_entries.amount_atoms is 'Positive: the account received.';
comment on column ledger_entries.reference is 'The account''s order, or the reference of a deposit or withdrawal.';

-- An export starts at a time; event times never run backwards, so this index grows at its end only.
create index ledger_entries_time on ledger_entries (time_ms);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;

create trigger append_only before update or delete or truncate on trades
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on movements
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on ledger_entries
  for each statement execute function refuse_change();
`);
