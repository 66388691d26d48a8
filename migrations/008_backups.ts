/** The last backup of each kind, so that settlement can report its age. */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table backups (
  kind text collate "C" primary key,
  at   timestamptz not null default clock_timestamp()
);
comment on table backups is 'The last backup of each kind: postgres, engine, and rehearsal for a restore that was tried.';
`);
