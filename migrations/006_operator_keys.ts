/** The keys of custody systems and desks, and what each has moved in a day. */

import type { Knex } from 'knex';

/**
 * An amount is reserved before the engine is asked, in the transaction that compares it with the cap. It stays counted
 * unless the engine refused it: an answer that was lost counts, so a cap is never passed.
 */
export const up = (knex: Knex) =>
  knex.raw(`
create table operator_keys (
  name       text collate "C" primary key,
  digest     bytea not null unique,
  rights     text[] not null,
  caps       jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  revoked_at timestamptz
);
comment on table operator_keys is 'Keys of the routes for operators. A name is never used twice.';
comment on column operator_keys.digest is 'SHA-256 of the key, which is nowhere kept.';
comment on column operator_keys.caps is 'Most that the key may move in a day (UTC), by asset, as decimals.';

create table operator_key_days (
  key   text collate "C" not null,
  day   date not null,
  asset text collate "C" not null,
  atoms numeric not null default 0,
  primary key (key, day, asset)
);
comment on table operator_key_days is 'Atoms that a key with a cap has moved or reserved in a day.';

create table cap_reservations (
  key       text collate "C" not null,
  kind      text collate "C" not null,
  reference text collate "C" not null,
  asset     text collate "C" not null,
  atoms     bigint not null,
  day       date not null,
  holders   integer not null,
  is_moved  boolean not null default false,
  primary key (key, kind, reference, asset, atoms)
);
comment on table cap_reservations is 'Reserved amounts of the last days, each of which is in operator_key_days once.';
comment on column cap_reservations.holders is 'Requests that have asked the engine, or will, to move this amount.';
comment on column cap_reservations.is_moved is 'The engine has moved it: nothing gives it back.';
`);
