/**
 * The epochs that began, each with its server. The engine's Redis forgets an epoch when a replica that lags takes over,
 * or when its file is cut back. This table keeps its number from being given out again.
 */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table engine_epochs (
  epoch    integer primary key,
  server   text collate "C" not null,
  begun_at timestamptz not null default clock_timestamp()
);
comment on table engine_epochs is 'Epochs of the engine that began, before any order was answered in them.';
comment on column engine_epochs.server is 'Run id of the engine''s Redis on which the epoch began.';
`);
