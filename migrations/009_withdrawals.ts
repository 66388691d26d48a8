/** Withdrawals that custody pays after they were requested. */

import type { Knex } from 'knex';

/**
 * A request has a reference of its own among the withdrawals. It ends once, confirmed or returned, under the same
 * reference. Those that did not end stand in a small table of their own, so that a list of them costs no history.
 */
export const up = (knex: Knex) =>
  knex.raw(`
alter table movements drop constraint movements_kind_check;
alter table movements add check (kind in ('credited', 'debited', 'requested', 'confirmed', 'returned')) not valid;
alter table movements add column txid text collate "C";
comment on column movements.txid is 'Transaction that paid a confirmed withdrawal.';
create unique index movements_withdrawals on movements (reference) where kind in ('debited', 'requested');
create unique index movements_ends on movements (reference) where kind in ('confirmed', 'returned');
create index movements_steps on movements (kind, sequence) where kind in ('requested', 'confirmed', 'returned');

alter table ledger_entries drop constraint ledger_entries_kind_check;
alter table ledger_entries add check
  (kind in ('trade', 'fee', 'credit', 'debit', 'request', 'confirm', 'return')) not valid;

create table pending_withdrawals (
  reference text collate "C" primary key,
  sequence  bigint not null unique
);
comment on table pending_withdrawals is 'Withdrawals that were requested, and are neither confirmed nor returned.';
`);
