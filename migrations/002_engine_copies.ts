/** The copies of the engine: which server is its primary, and which ones have everything that it answered. */

import type { Knex } from 'knex';

/**
 * Every change of the row adds 1 to its version and names the version that it changes, so a process that was paused
 * changes nothing. An engine without copies has no row.
 */
export const up = (knex: Knex) =>
  knex.raw(`
create table engine_copies (
  shard    smallint primary key default 0 check (shard = 0),
  server   text collate "C" not null,
  version  integer not null default 1,
  epoch    integer not null default 0,
  begun_on text collate "C" not null,
  members  text[] collate "C" not null,
  joining  text[] collate "C" not null default '{}',
  named_at timestamptz
);
comment on table engine_copies is 'Servers of an engine that has copies; one row for each engine.';
comment on column engine_copies.server is 'The primary, by the name that REDIS_URL gives it: no epoch begins elsewhere.';
comment on column engine_copies.epoch is 'The last epoch that began while the engine had copies; begun_on is its server.';
comment on column engine_copies.members is 'Servers that have every answered order, and may be named.';
comment on column engine_copies.joining is 'Servers that answers wait for already, and that may not be named yet.';
comment on column engine_copies.named_at is 'When another server was named last.';
`);
