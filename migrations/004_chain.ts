/** The chain of events, and the histories without which it could not be recomputed. */

import type { Knex } from 'knex';

/**
 * The head after a batch is the SHA-256 of the head before it and of digests of the rows that each event wrote. Ledger
 * entries and candles are left out: they follow from trades and movements, and a reconcile recomputes them.
 */
export const up = (knex: Knex) =>
  knex.raw(`
alter table engine_cursor add column head text collate "C" not null default '';
comment on column engine_cursor.head is 'Head of the chain after that event, in base64.';

create table chain_heads (
  sequence bigint primary key,
  head     text collate "C" not null
);
comment on table chain_heads is 'A head of every 10,000 events, and of closings. The first row is where the chain begins.';
insert into chain_heads (sequence, head) select sequence, head from engine_cursor;

create table chain_links (
  sequence bigint primary key,
  links    text collate "C" not null
);
comment on table chain_links is 'The beginning of the digest of each event, those of one batch in a row.';
comment on column chain_links.sequence is 'The last event of the batch.';

create table market_versions (
  market   text collate "C" not null,
  sequence bigint not null,
  fee_bps  integer not null,
  record   jsonb not null,
  time_ms  bigint not null,
  primary key (market, sequence)
);
comment on table market_versions is 'Each record that a market ever had, with the event from which it holds.';

create table setting_changes (
  sequence bigint primary key,
  kind     text collate "C" not null,
  subject  text collate "C",
  value    text,
  time_ms  bigint not null
);
comment on table setting_changes is 'Each change of a hold, of accepted or required terms, of an asset and of the pause.';
comment on column setting_changes.subject is 'Wallet or asset; null for the whole exchange.';

create trigger append_only before update or delete or truncate on chain_heads
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on chain_links
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on market_versions
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on setting_changes
  for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on reconciliations
  for each statement execute function refuse_change();
`);
