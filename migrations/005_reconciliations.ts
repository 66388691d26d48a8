/** Results of each reconcile, which processes report long after the command has ended. */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table reconciliations (
  id            bigint generated always as identity primary key,
  finished_at   timestamptz not null default clock_timestamp(),
  sequence      bigint not null,
  checks        integer not null,
  differences   bigint not null,
  failed_checks text[] not null
);
comment on table reconciliations is 'Results of \`ledger reconcile\`; the books held when there were no differences.';
comment on column reconciliations.sequence is 'Engine event up to which everything was settled at its end.';
`);
