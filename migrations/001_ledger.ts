/** The tables of the ledger: where settlement stands, settings of the engine, orders, trades, entries and candles. */

import type { Knex } from 'knex';

/**
 * Amounts are whole ticks, steps and atoms. Ids are `collate "C"`: compared byte by byte, which is exact and fastest.
 * `fillfactor` leaves room beside a row that settlement changes, so that the change touches no index.
 *
 * Every transaction of `ledger_entries` sums to zero in every asset. Its accounts are wallets, `house` (fees earned) and
 * `custody` (the world outside: what was deposited is owed to it, so its balance is the negative of what the service
 * holds).
 *
 * A witness is a digest of a row that has no second copy. `ledger reconcile` compares it, and sees what a hand in the
 * database changed. Settlement writes the witnesses of orders. Triggers write the others, and only for events that the
 * cursor does not contain yet.
 */
export const up = (knex: Knex) =>
  knex.raw(`
create table engine_cursor (
  only_row      boolean primary key default true check (only_row),
  epoch         bigint not null,
  sequence      bigint not null,
  digest        text,
  event_time_ms bigint,
  settled_at    timestamptz,
  orders        bigint not null default 0,
  trades        bigint not null default 0,
  movements     bigint not null default 0,
  entries       bigint not null default 0
);
comment on table engine_cursor is 'The last engine event these tables contain; settlement locks this row.';
comment on column engine_cursor.digest is 'SHA-256 of that event: the same place must always hold the same content.';
comment on column engine_cursor.orders is 'Orders that were ever settled; no row of theirs is ever deleted.';
insert into engine_cursor (epoch, sequence) values (0, 0);

-- A replica that lags, or a file that is cut back, makes the engine's Redis forget an epoch. Its number must not be
-- given out again.
create table engine_epochs (
  epoch    integer primary key,
  server   text collate "C" not null,
  begun_at timestamptz not null default clock_timestamp()
);
comment on table engine_epochs is 'Epochs of the engine that began, before any order was answered in them.';
comment on column engine_epochs.server is 'Run id of the engine''s Redis on which the epoch began.';

-- Settings of the engine as of the last settled event. A rebuilt engine has them from here.
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
  accepted_at_ms bigint not null,
  witness        bytea
);

create table holds (
  wallet     text collate "C" primary key,
  held_at_ms bigint not null,
  witness    bytea
);
comment on table holds is 'Wallets on custody hold; a release removes the row.';

create table orders (
  id                   text collate "C" primary key,
  wallet               text collate "C" not null,
  market               text collate "C" not null,
  side                 text not null check (side in ('buy', 'sell')),
  type                 text not null check (type in ('limit', 'market')),
  time_in_force        text not null,
  post_only            boolean not null,
  leverage             double precision,
  price_ticks          bigint,
  size_steps           bigint not null,
  filled_steps         bigint not null check (filled_steps between 0 and size_steps),
  status               text not null,
  reject_reason        text,
  client_order_id      text collate "C",
  created_at_ms        bigint not null,
  updated_at_ms        bigint not null,
  sequence             bigint not null,
  updated_sequence     bigint not null,
  closed_sequence      bigint,
  base                 text not null,
  quote                text not null,
  base_atoms_per_step  bigint not null,
  quote_atoms_per_lot  bigint not null,
  fill_count           bigint not null default 0,
  witness              bytea,
  reason               text,
  check ((closed_sequence is null) = (status in ('open', 'resting', 'partially_filled')))
) with (fillfactor = 80);
comment on column orders.sequence is 'Engine event that placed the order.';
comment on column orders.closed_sequence is 'Engine event that ended it; null while it is live.';
comment on column orders.quote_atoms_per_lot is 'Quote atoms of one step at one tick.';
comment on column orders.fill_count is 'Trades the order took part in, as taker or maker.';
comment on column orders.witness is 'Digest of the row as settlement wrote it.';
comment on column orders.reason is 'Why an order ended that was neither filled nor rejected; null: not recorded.';

create unique index orders_client_order_id on orders (wallet, client_order_id) where client_order_id is not null;
-- A page of live orders walks past no closed ones, and a page of closed orders past no live ones. A page of all orders
-- is made of both.
create index orders_live_newest on orders (wallet, sequence) where closed_sequence is null;
create index orders_closed_newest on orders (wallet, sequence) where closed_sequence is not null;
-- For lists of one market. The market comes first: Postgres, before it has statistics, would take an index on (wallet,
-- sequence) for them and read all orders of the wallet.
create index orders_live_of_market on orders (market, wallet, sequence) where closed_sequence is null;
create index orders_closed_of_market on orders (market, wallet, sequence) where closed_sequence is not null;

create table trades (
  trade_id             bigint primary key,
  sequence             bigint not null,
  market               text collate "C" not null,
  taker_side           text not null check (taker_side in ('buy', 'sell')),
  price_ticks          bigint not null,
  size_steps           bigint not null,
  base_atoms           bigint not null,
  notional_atoms       bigint not null,
  fee_atoms            bigint not null,
  taker_order_id       text collate "C" not null,
  maker_order_id       text collate "C" not null,
  taker_wallet         text collate "C" not null,
  maker_wallet         text collate "C" not null,
  time_ms              bigint not null,
  base                 text not null,
  quote                text not null,
  base_atoms_per_step  bigint not null,
  quote_atoms_per_lot  bigint not null
);
comment on column trades.fee_atoms is 'Paid by the taker, in the quote asset.';

-- The fills of an order in the order of execution, from either end.
create index trades_of_taker_order on trades (taker_order_id, trade_id);
create index trades_of_maker_order on trades (maker_order_id, trade_id);
create index trades_taker on trades (taker_wallet, market, trade_id);
create index trades_maker on trades (maker_wallet, market, trade_id);
-- By side and time, so that no filter of a client walks past more trades than it asks for. Times never run backwards,
-- so this is the order of execution too.
create index trades_public on trades (market, taker_side, time_ms, trade_id);

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

-- Sums are numeric: a thousand of the largest orders in one minute pass what a bigint holds, and no request of a client
-- may stop settlement.
create table candles (
  market         text collate "C" not null,
  open_ms        bigint not null,
  open_ticks     bigint not null,
  high_ticks     bigint not null,
  low_ticks      bigint not null,
  close_ticks    bigint not null,
  volume_steps   numeric not null,
  quote_atoms    numeric not null,
  first_trade_id bigint not null,
  last_trade_id  bigint not null,
  timeframe      text collate "C" not null,
  primary key (market, timeframe, open_ms)
) with (fillfactor = 80);
comment on table candles is 'Executions of a market by minute, hour and day; those without any have no row.';
comment on column candles.quote_atoms is 'Price x size.';
comment on column candles.timeframe is '1m, 1h or 1D';

-- Processes report these results long after the command has ended.
create table reconciliations (
  id            bigint generated always as identity primary key,
  finished_at   timestamptz not null default clock_timestamp(),
  sequence      bigint not null,
  checks        integer not null,
  differences   bigint not null,
  failed_checks text[] not null,
  witness       bytea
);
comment on table reconciliations is 'Results of \`ledger reconcile\`; the books held when there were no differences.';
comment on column reconciliations.sequence is 'Engine event up to which everything was settled at its end.';

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

create function digest_of(content text) returns bytea language sql stable parallel safe as
  $$ select substring(sha256(convert_to(content, 'UTF8')) for 16) $$;

create function witness_of(holds) returns bytea language sql stable parallel safe as
  $$ select digest_of(row($1.wallet, $1.held_at_ms)::text) $$;
create function witness_of(wallet_terms) returns bytea language sql stable parallel safe as
  $$ select digest_of(row($1.wallet, $1.version, $1.accepted_at_ms)::text) $$;
create function witness_of(reconciliations) returns bytea language sql stable parallel safe as $$
  select digest_of(row($1.id, extract(epoch from $1.finished_at), $1.sequence, $1.checks, $1.differences,
    $1.failed_checks)::text)
$$;

create function stamp_hold() returns trigger language plpgsql as $$
begin
  if new.held_at_ms >= (select coalesce(event_time_ms, 0) from engine_cursor) then
    new.witness := witness_of(new);
  end if;
  return new;
end $$;
create trigger stamp before insert or update on holds for each row execute function stamp_hold();

create function stamp_terms() returns trigger language plpgsql as $$
begin
  if new.accepted_at_ms >= (select coalesce(event_time_ms, 0) from engine_cursor) then
    new.witness := witness_of(new);
  end if;
  return new;
end $$;
create trigger stamp before insert or update on wallet_terms for each row execute function stamp_terms();

create function stamp_reconciliation() returns trigger language plpgsql as $$
begin
  new.witness := witness_of(new);
  return new;
end $$;
create trigger stamp before insert on reconciliations for each row execute function stamp_reconciliation();

-- The digest of all that never changes of an order, and a second copy of what does. The fields come in the order in
-- which settlement writes them; a text of a client, which may hold anything, is the last of the digest. 22 characters
-- of base64 are 132 bits. concat_ws leaves nulls out.
create function order_witness(orders) returns bytea language sql stable parallel safe as $$
  select convert_to(
    substr(encode(sha256(convert_to(concat_ws(E'\\t', 
  $1.id, $1.wallet, $1.market, $1.side, $1.type, $1.time_in_force, $1.post_only,
  coalesce($1.price_ticks::text, '\\N'), $1.size_steps, $1.created_at_ms, $1.sequence, $1.base, $1.quote,
  $1.base_atoms_per_step, $1.quote_atoms_per_lot, coalesce($1.reject_reason, '\\N'),
  coalesce(encode(float8send($1.leverage), 'hex'), '\\N'), $1.client_order_id), 'UTF8')), 'base64'), 1, 22)
      || concat_ws('/', '', 
  $1.filled_steps, $1.fill_count, $1.status, $1.updated_at_ms, $1.updated_sequence,
  coalesce($1.closed_sequence::text, '-'), $1.reason),
    'UTF8')
$$;
`);
