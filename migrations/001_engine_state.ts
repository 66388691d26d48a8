/** Settings of the engine as of the last settled event. An empty engine is set up again from them. */

import type { Knex } from 'knex';

export const up = (knex: Knex) =>
  knex.raw(`
create table engine_cursor (
  only_row      boolean primary key default true check (only_row),
  epoch         bigint not null,
  sequence      bigint not null,
  digest        text,
  event_time_ms bigint,
  settled_at    timestamptz
);
comment on table engine_cursor is 'The last engine event these tables contain; settlement locks this row.';
comment on column engine_cursor.digest is 'SHA-256 of that event: the same place must always hold the same content.';
insert into engine_cursor (epoch, sequence) values (0, 0);

create table trading_switches (
  only_row      boolean primary key default true check (only_row),
  paused        boolean not null,
  terms_version text
);
comment on column trading_switches.terms_version is 'The version a wallet must have accepted to trade; null: none.';
insert into trading_switches (paused) values (false);

create table assets (
  symbol text collate "C" primary key,
  scale  smallint not null
);
comment on column assets.scale is 'Decimals of one atom of the asset.';

create table markets (
  symbol  text collate "C" primary key,
  number  integer not null unique,
  version bigint not null,
  record  jsonb not null
);
comment on column markets.record is 'The whole record; integers beyond 2^53 are strings.';

create table wallet_terms (
  wallet         text collate "C" primary key,
  version        text not null,
  accepted_at_ms bigint not null
);

create table holds (
  wallet     text collate "C" primary key,
  held_at_ms bigint not null
);
comment on table holds is 'Wallets on custody hold; a release removes the row.';
`);
