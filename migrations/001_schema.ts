/** The tables of the ledger. Nothing is released yet: this migration is edited in place until the first release. */

import type { Knex } from 'knex';

/**
 * The engine's place in the ledger, its epochs and its copies.
 *
 * Every change of the row of copies adds 1 to its version and names the version that it changes, so a process that was
 * paused changes nothing. An engine without copies has no row.
 */
const ENGINE = `
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
  head          text collate "C" not null default ''
);
comment on table engine_cursor is 'The last engine event these tables contain; settlement locks this row.';
comment on column engine_cursor.digest is 'SHA-256 of that event: the same place must always hold the same content.';
comment on column engine_cursor.orders is 'Orders that were ever settled; no row of theirs is ever deleted.';
comment on column engine_cursor.head is 'Head of the chain after that event, in base64.';
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

create table epoch_starts (
  epoch    integer primary key,
  sequence bigint not null
);
comment on table epoch_starts is 'The first event of each epoch. An engine that lost events gives their sequences again.';

create table engine_copies (
  shard    smallint primary key default 0 check (shard = 0),
  server   text collate "C" not null,
  run_id   text collate "C",
  version  integer not null default 1,
  mark     text collate "C" not null default gen_random_uuid(),
  epoch    integer not null default 0,
  begun_on text collate "C" not null,
  members  text[] collate "C" not null,
  joining  text[] collate "C" not null default '{}',
  former   text[] collate "C" not null default '{}',
  named_at timestamptz
);
comment on table engine_copies is 'Servers of an engine that has copies; one row for each engine.';
comment on column engine_copies.server is 'The primary, by the name that REDIS_URL gives it: no epoch begins elsewhere.';
comment on column engine_copies.run_id is 'Run id under which it was found fit to lead: no epoch begins under another one.';
comment on column engine_copies.mark is 'Tells a version from another one of the same number, after Postgres was put back.';
comment on column engine_copies.epoch is 'The last epoch that began while the engine had copies; begun_on is its server.';
comment on column engine_copies.members is 'Servers that have every answered order, and may be named.';
comment on column engine_copies.joining is 'Servers that answers wait for already, and that may not be named yet.';
comment on column engine_copies.former is 'Servers that left as too few remained for an answer, and may be named.';
comment on column engine_copies.named_at is 'When another server was named last.';

create table engine_lists (
  version integer primary key,
  mark    text collate "C" not null
);
comment on table engine_lists is 'The versions that engine_copies had. A server with another one shows that Postgres was put back.';
`;

/** Settings of the engine, as they are and as they were. */
const SETTINGS = `
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
  accepted_at_ms bigint not null
);

create table holds (
  wallet     text collate "C" primary key,
  held_at_ms bigint not null
);
comment on table holds is 'Wallets on custody hold; a release removes the row.';

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
comment on table setting_changes is 'Each change of a hold, of a take, of accepted or required terms, of an asset and of the pause.';
-- Takes and releases, for those who follow withdrawals.
create index setting_changes_takes on setting_changes (sequence)
  where kind in ('withdrawal_taken', 'withdrawal_released');
comment on column setting_changes.subject is 'Wallet, asset or reference; null for the whole exchange.';
`;

/** Columns of orders, live and ended. */
const ORDER_COLUMNS = `
  id                   text collate "C" not null,
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
  reason               text`;

const NAMES_OF_ORDER_COLUMNS = ORDER_COLUMNS.split(',\n')
  .map((line) => line.trim().split(' ', 1)[0])
  .join(', ');

/** Indexes of `ended_orders` and of `late_orders`. */
const indexesOfEnded = (table: string): string => `
-- For pages of ended orders, which walk past no live ones.
create index ${table}_newest on ${table} (wallet, sequence) where closed_sequence is not null;
create index ${table}_of_market on ${table} (market, wallet, sequence) where closed_sequence is not null;
-- Orders that ended after their placement and were not filled: a trade tells of a fill.
create index ${table}_ended on ${table} (wallet, closed_sequence)
  where reason is not null and closed_sequence > sequence;
-- Orders that were live at a time. Rows lie in the order of ending, so the ranges of a few pages are narrow.
create index ${table}_by_time on ${table} using brin (created_at_ms, updated_at_ms) with (autosummarize = on);
`;

/** Checks of `ended_orders` and of `late_orders`. */
const CHECKS_OF_ENDED = `
  check (closed_sequence is not null),
  check (status not in ('open', 'resting', 'partially_filled'))`;

/**
 * Orders, trades and candles.
 *
 * Amounts are whole ticks, steps and atoms. Ids are `collate "C"`: compared byte by byte, which is exact and fastest.
 *
 * An order is in one of three tables. It changes in `live_orders`, and its end takes it from there into a table where it
 * never changes. A row of one table with all orders took a second row and new entries in every index when its order
 * ended. `fillfactor` leaves room beside a row that settlement changes, so that the change touches no index.
 *
 * Ended orders and trades lie in segments, by the event that placed the order or made the trade. A unique index of all
 * segments would have to contain that event, so each segment has unique indexes of its own, and no others. An order that
 * ended in a later segment is in `late_orders`, so no row is written to a segment once its events are settled.
 */
const TRADING = `
create table live_orders (${ORDER_COLUMNS},
  primary key (id),
  check (closed_sequence is null),
  check (reject_reason is null and reason is null),
  check (status in ('open', 'resting', 'partially_filled'))
) with (fillfactor = 50);
comment on table live_orders is 'The live orders, and nothing else.';

create table ended_orders (${ORDER_COLUMNS},${CHECKS_OF_ENDED}
) partition by range (sequence);
comment on table ended_orders is 'Each order that ended in the segment in which it was placed, as it ended.';

create table late_orders (${ORDER_COLUMNS},${CHECKS_OF_ENDED},
  primary key (id)
);
comment on table late_orders is 'Each order that ended in a later segment than the one in which it was placed, as it ended.';

create view orders as
select ${NAMES_OF_ORDER_COLUMNS} from live_orders
union all
select ${NAMES_OF_ORDER_COLUMNS} from ended_orders
union all
select ${NAMES_OF_ORDER_COLUMNS} from late_orders;
comment on view orders is 'Each order ever recorded, with its present or final state.';
comment on column orders.sequence is 'Engine event that placed the order.';
comment on column orders.closed_sequence is 'Engine event that ended it; null while it is live.';
comment on column orders.quote_atoms_per_lot is 'Quote atoms of one step at one tick.';
comment on column orders.fill_count is 'Trades the order took part in, as taker or maker.';
comment on column orders.reason is 'Why an order ended that was neither filled nor rejected; null: not recorded.';

create unique index live_orders_client_order_id on live_orders (wallet, client_order_id)
  where client_order_id is not null;
create unique index late_orders_client_order_id on late_orders (wallet, client_order_id)
  where client_order_id is not null;
-- A page of live orders walks past no ended ones. A page of all orders is made of those of each table. The conditions
-- hold for all rows and only lists have them: Postgres, before it has statistics, would take an index that begins with
-- the wallet for a client order id, too, and read all orders of the wallet.
create index live_orders_newest on live_orders (wallet, sequence) where closed_sequence is null;
-- For lists of one market. The market comes first: Postgres, before it has statistics, would take an index on (wallet,
-- sequence) for them and read all orders of the wallet.
create index live_orders_of_market on live_orders (market, wallet, sequence) where closed_sequence is null;
${['ended_orders', 'late_orders'].map(indexesOfEnded).join('')}
-- Late orders by the segments in which they were placed and ended.
create index late_orders_by_event on late_orders using brin (sequence, closed_sequence) with (autosummarize = on);
-- No unique index reaches over all tables, or over two segments of ended orders. So settlement has the client order ids
-- of new orders looked up where their own index does not reach; the orders are written already, all at or before the last
-- event. Segments that cannot have a row are left out.
create function refuse_used_ids(live_wallets text[], live_ids text[], ended_wallets text[], ended_ids text[],
  ended_sequences bigint[], last bigint)
returns void language plpgsql as $$
declare
  used record;
  newest bigint := (select max(from_sequence) from public.segments where from_sequence <= last);
begin
  select live.wallet, live.id into used from unnest(live_wallets, live_ids) as live (wallet, id)
  where exists (select from public.ended_orders
    where ended_orders.wallet = live.wallet and client_order_id = live.id and ended_orders.sequence <= last)
    or exists (select from public.late_orders
      where late_orders.wallet = live.wallet and client_order_id = live.id)
  union all
  select ended.wallet, ended.id from unnest(ended_wallets, ended_ids, ended_sequences) as ended (wallet, id, sequence)
  where exists (select from public.live_orders
      where live_orders.wallet = ended.wallet and client_order_id = ended.id)
    or exists (select from public.late_orders
      where late_orders.wallet = ended.wallet and client_order_id = ended.id and late_orders.sequence <> ended.sequence)
    or exists (select from public.ended_orders
      where ended_orders.wallet = ended.wallet and client_order_id = ended.id
        and ended_orders.sequence < newest and ended_orders.sequence <> ended.sequence)
  limit 1;
  if found then
    raise exception 'two orders of % have the client order id %', used.wallet, used.id
      using errcode = 'unique_violation';
  end if;
end $$;

create table trades (
  trade_id             bigint not null,
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
) partition by range (sequence);
comment on column trades.fee_atoms is 'Paid by the taker, in the quote asset.';

-- Trades in the order of their events, from which the ledger's entries follow. An order takes in the event that places
-- it, so these are its fills as the taker too.
create index trades_of_event on trades (sequence, trade_id);
-- The fills of a maker in the order of execution, from either end.
create index trades_of_maker_order on trades (maker_order_id, trade_id);
create index trades_taker on trades (taker_wallet, market, trade_id);
create index trades_maker on trades (maker_wallet, market, trade_id);
-- By side and time, so that no filter of a client walks past more trades than it asks for. Times never run backwards,
-- so this is the order of execution too.
create index trades_public on trades (market, taker_side, time_ms, trade_id);

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
`;

/** Movements of funds. */
const MONEY = `
create table movements (
  sequence     bigint primary key,
  kind         text not null check (kind in ('credited', 'debited', 'requested', 'confirmed', 'returned', 'announced', 'dropped')),
  wallet       text collate "C" not null,
  asset        text collate "C" not null,
  amount_atoms bigint not null check (amount_atoms > 0),
  reference    text collate "C" not null,
  time_ms      bigint not null,
  reverses     text collate "C",
  txid         text collate "C",
  owed_atoms   bigint not null default 0,
  unique (kind, reference),
  check (owed_atoms between 0 and amount_atoms)
);
comment on table movements is 'Deposits and withdrawals; a reference counts once a kind.';
comment on column movements.reverses is 'Reference of the movement of the other kind that this one corrects.';
comment on column movements.txid is 'Transaction that paid a confirmed withdrawal.';
comment on column movements.owed_atoms is 'Part that the wallet owes since a reversal; of a deposit or a return, the part that paid what it owed.';

-- Deposits and withdrawals of a wallet, for its statement.
create index movements_of_wallet on movements (wallet, sequence);
create index movements_reverses on movements (kind, reverses) where reverses is not null;
create unique index movements_withdrawals on movements (reference) where kind in ('debited', 'requested');
create unique index movements_deposit_ends on movements (reference) where kind in ('credited', 'dropped');
create unique index movements_ends on movements (reference) where kind in ('confirmed', 'returned');
-- Receivables are rare: the ledger's entries of them cost no history.
create index movements_owed on movements (sequence) where owed_atoms <> 0;
create index movements_steps on movements (kind, sequence) where kind in ('requested', 'confirmed', 'returned');

-- A list of the withdrawals that did not end costs no history.
create table pending_withdrawals (
  reference text collate "C" primary key,
  sequence  bigint not null unique
);
comment on table pending_withdrawals is 'Withdrawals that were requested, and are neither confirmed nor returned.';

create table announced_deposits (
  reference text collate "C" primary key,
  sequence  bigint not null unique
);
comment on table announced_deposits is 'Deposits that were announced, and are neither credited nor dropped.';

create table taken_withdrawals (
  reference   text collate "C" primary key,
  take        text not null,
  until_ms    bigint not null,
  taken_at_ms bigint not null
);
comment on table taken_withdrawals is 'Pending withdrawals that somebody pays.';
comment on column taken_withdrawals.take is 'Who pays it and until when, as JSON.';
`;

/**
 * Seams of the ledger: events that no copy of it has, and the state of the engine that followed them.
 *
 * The tables are empty in a ledger that never lost an event, and small in all others.
 */
const ADOPTIONS = `
create table adoptions (
  sequence       bigint primary key,
  after_sequence bigint not null,
  last_trade_id  bigint not null,
  time_ms        bigint not null,
  check (sequence > after_sequence)
);
comment on table adoptions is 'Seams: events after after_sequence, up to sequence, are lost. Rows of these events were written as of the state of the engine.';
comment on column adoptions.last_trade_id is 'The last trade id that the engine had given out by then.';

create table adopted_balances (
  account      text collate "C" not null,
  sequence     bigint not null,
  asset        text collate "C" not null,
  line         integer not null,
  amount_atoms bigint not null check (amount_atoms <> 0),
  time_ms      bigint not null,
  primary key (account, sequence, asset)
);
-- Adopted balances in the order of their events, from which the ledger's entries follow.
create index adopted_balances_of_event on adopted_balances (sequence, line);
comment on table adopted_balances is 'What the lost events of a seam changed of each account, in sum.';

create table adopted_fills (
  order_id text collate "C" not null,
  sequence bigint not null,
  steps    bigint not null check (steps > 0),
  time_ms  bigint not null,
  primary key (order_id, sequence)
);
comment on table adopted_fills is 'Steps of an order that lost trades filled. A lost order whose size is unknown has one.';

create table adopted_prices (
  market      text collate "C" not null,
  sequence    bigint not null,
  price_ticks bigint not null,
  time_ms     bigint not null,
  primary key (market, sequence)
);
comment on table adopted_prices is 'The price of the last trade of a market, where the trade is lost.';
`;

/**
 * The double entries of all accounts, which follow from trades, movements and adopted balances.
 *
 * Each trade and each movement becomes lines that sum to zero in every asset. Accounts are wallets, `house` (fees
 * earned), `withdrawals` (requested and not yet ended) and `custody`, the world outside. Deposits are owed to it, so its
 * balance is the negative of what the service holds.
 *
 * Every column is named with its table, because a reconcile compares the text that Postgres makes of the view. The lists
 * of lines are constants: a list of values of each trade took three times as long. A condition on `sequence` reaches
 * the indexes of the tables, and a statement that does not ask for `line` does not number the lines.
 */
const ENTRIES = `
create view ledger_entries as
select trades.sequence,
  (row_number() over (partition by trades.sequence order by trades.trade_id, booked.place) - 1)::integer as line,
  ('trade-' || trades.trade_id) collate "C" as transaction_id, booked.kind,
  case booked.role when 'taker' then trades.taker_wallet when 'maker' then trades.maker_wallet else 'house' end
    as account,
  case booked.amount when 'base' then trades.base else trades.quote end collate "C" as asset,
  booked.way * case when booked.amount = 'fee' or trades.taker_side = 'buy' then 1 else -1 end * moved.atoms
    as amount_atoms,
  case booked.role when 'maker' then trades.maker_order_id else trades.taker_order_id end as reference, trades.time_ms
from trades
cross join (values
  (0, 'trade', 'taker', 'base', 1), (1, 'trade', 'maker', 'base', -1),
  (2, 'trade', 'taker', 'notional', -1), (3, 'trade', 'maker', 'notional', 1),
  (4, 'fee', 'taker', 'fee', -1), (5, 'fee', 'house', 'fee', 1)
) as booked (place, kind, role, amount, way)
cross join lateral (select case booked.amount when 'base' then trades.base_atoms
  when 'notional' then trades.notional_atoms else trades.fee_atoms end as atoms) as moved
where moved.atoms <> 0
union all
select movements.sequence, booked.line, (booked.kind || '-' || movements.sequence) collate "C", booked.kind,
  coalesce(booked.account, movements.wallet), movements.asset, booked.way * movements.amount_atoms,
  movements.reference, movements.time_ms
from movements
join (values
  ('credited', 0, 'credit', 'custody', -1), ('credited', 1, 'credit', null, 1),
  ('debited', 0, 'debit', 'custody', 1), ('debited', 1, 'debit', null, -1),
  ('requested', 0, 'request', 'withdrawals', 1), ('requested', 1, 'request', null, -1),
  ('confirmed', 0, 'confirm', 'custody', 1), ('confirmed', 1, 'confirm', 'withdrawals', -1),
  ('returned', 0, 'return', 'withdrawals', -1), ('returned', 1, 'return', null, 1)
) as booked (movement, line, kind, account, way) on booked.movement = movements.kind
union all
select movements.sequence, booked.line, ((case movements.kind when 'credited' then 'credit' when 'debited' then 'debit'
    else 'return' end) || '-' || movements.sequence) collate "C", 'receivable',
  case booked.line when 2 then 'receivable:' else '' end || movements.wallet, movements.asset,
  case movements.kind when 'debited' then booked.way else -booked.way end * movements.owed_atoms,
  movements.reference, movements.time_ms
from movements
cross join (values (2, -1), (3, 1)) as booked (line, way)
where movements.owed_atoms <> 0
union all
select adopted.sequence, adopted.line, ('adopt-' || adopted.sequence) collate "C", 'adopt', adopted.account,
  adopted.asset, adopted.amount_atoms, ('adopt-' || adopted.sequence) collate "C", adopted.time_ms
from adopted_balances as adopted;
comment on view ledger_entries is 'Entry id: engine event and line in it. The lines of a transaction sum to 0 in each asset.';
comment on column ledger_entries.amount_atoms is 'Positive: the account received.';
comment on column ledger_entries.reference is 'The account''s order, or the reference of a deposit or withdrawal.';
`;

/**
 * Closings of months and balances that were kept after an event, which is the last one of a day.
 *
 * A statement starts from the nearest kept balances, so its cost follows the days since and not the history.
 *
 * The act of a closing has its digest, and stands in the chain. A closing is in force while its act is the last one of
 * its month. The figures are kept before their act, so an interrupted command leaves none in force without its rows.
 */
const CLOSINGS = `
create table closings (
  id       bigint primary key,
  month    text collate "C" not null check (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  end_ms   bigint not null,
  sequence bigint not null,
  digest   bytea not null,
  unique (month, digest)
);
comment on table closings is 'Figures of months (UTC). Those are in force whose digest the last act of the month has.';
comment on column closings.sequence is 'The last booked event before the end; 0: none.';
comment on column closings.digest is 'SHA-256 of the balances of the closing.';

create table closing_balances (
  closing        bigint not null,
  account        text collate "C" not null,
  asset          text collate "C" not null,
  total_atoms    numeric not null,
  reserved_atoms numeric not null,
  primary key (closing, account, asset)
);
comment on table closing_balances is 'Balances of all accounts at the end of the month of a closing, without those of nothing.';

create table kept_balances (
  sequence    bigint not null,
  account     text collate "C" not null,
  asset       text collate "C" not null,
  total_atoms numeric not null,
  primary key (sequence, account, asset)
);
comment on table kept_balances is 'Balances of all accounts right after an event, from which later ones are summed, without those of nothing.';
`;

/**
 * The chain of events.
 *
 * The head after a batch is the SHA-256 of the head before it and of digests of the rows that each event wrote. Candles
 * are left out: they follow from trades, and a reconcile recomputes them.
 */
const CHAIN = `
create table chain_heads (
  sequence bigint primary key,
  head     text collate "C" not null
);
comment on table chain_heads is 'A head of every 10,000 events, and of closings. The first row is where the chain begins.';
insert into chain_heads (sequence, head) values (0, '');

create table chain_links (
  sequence bigint primary key,
  links    text collate "C" not null
) partition by range (sequence);
comment on table chain_links is 'The checksum of the rows of each event, those of one batch in a row.';
comment on column chain_links.sequence is 'The last event of the batch.';
`;

/**
 * Acts of operators, their keys, and what each key has moved in a day.
 *
 * An amount is reserved before the engine is asked, in the transaction that compares it with the cap. It stays counted
 * unless the engine refused it: an answer that was lost counts, so a cap is never passed.
 */
const OPERATORS = `
create table operator_acts (
  sequence bigint primary key,
  name     text collate "C" not null,
  operator text collate "C" not null,
  reason   text not null,
  wallet   text collate "C",
  market   text collate "C",
  asset    text collate "C",
  subject  text collate "C",
  before   text,
  after    text,
  time_ms  bigint not null
);
create index operator_acts_operator on operator_acts (operator, sequence);
create index operator_acts_wallet on operator_acts (wallet, sequence) where wallet is not null;
create index operator_acts_market on operator_acts (market, sequence) where market is not null;
create index operator_acts_listings on operator_acts (sequence) where name = 'asset list';
create index operator_acts_months on operator_acts (subject, sequence) where name in ('ledger close', 'ledger reopen');
comment on table operator_acts is 'Each change that an operator made, by its event.';
comment on column operator_acts.name is 'The command, like account hold.';
comment on column operator_acts.operator is 'Name of the person or of the key.';
comment on column operator_acts.subject is 'Reference, order id, month or key that the act was about.';
comment on column operator_acts.before is
  'What there was: available atoms, terms, a scale, a record of a market, the digest of a closing, or on for a hold and a pause.';
comment on column operator_acts.after is 'What there is since, in the same words.';

create table operator_keys (
  name        text collate "C" primary key,
  digest      bytea not null unique,
  rights      text[] not null,
  caps        jsonb not null,
  two_persons jsonb not null,
  created_at  timestamptz not null default clock_timestamp(),
  revoked_at  timestamptz
);
comment on table operator_keys is 'Keys of the routes for operators. A name is never used twice.';
comment on column operator_keys.digest is 'SHA-256 of the key, which is nowhere kept.';
comment on column operator_keys.caps is 'Maximum that the key may move in a day (UTC), by asset, as decimals.';

comment on column operator_keys.two_persons is 'Maximum that the key may move without the approval of another, by asset, as decimals.';

create table waiting_movements (
  number       bigint generated by default as identity,
  side         text not null check (side in ('deposit', 'withdrawal')),
  reference    text collate "C" not null,
  kind         text not null,
  wallet       text collate "C" not null,
  asset        text collate "C" not null,
  amount_atoms bigint not null check (amount_atoms > 0),
  scale        smallint not null,
  reverses     text collate "C",
  key          text collate "C" not null,
  reason       text not null,
  state        text not null check (state in ('waiting', 'approved', 'refused')),
  asked_at     timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null,
  primary key (side, reference)
);
create index waiting_movements_of_keys on waiting_movements (key, state);
create unique index waiting_movements_list on waiting_movements (number) where state = 'waiting';
comment on table waiting_movements is 'Movements that a key asked for and another key has to approve.';
comment on column waiting_movements.number is 'Order of the list, new with each request.';
comment on column waiting_movements.scale is 'Decimals of the asset that the atoms were made with.';

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
`;

/** Results of reconciles, seals and readings of segments, and the last backups. */
const CHECKS = `
-- Processes report these results long after the command has ended.
create table reconciliations (
  id            bigint primary key,
  finished_at   timestamptz not null default clock_timestamp(),
  sequence      bigint not null,
  checks        integer not null,
  differences   bigint not null,
  failed_checks text[] not null,
  results       jsonb,
  link          bytea not null
);
comment on table reconciliations is 'Results of \`ledger reconcile\`; the books held when there were no differences.';
comment on column reconciliations.results is 'Result of each check: name, asset, what was compared, differences.';
comment on column reconciliations.link is 'SHA-256 of the link of the row before and of this row.';
comment on column reconciliations.id is 'Numbers without gaps, from 1: each is one more than that of the row before.';
comment on column reconciliations.sequence is 'Engine event up to which everything was settled at its end.';

create table seals (
  segment       integer primary key,
  from_sequence bigint not null,
  to_sequence   bigint not null,
  tables        jsonb not null,
  head_sequence bigint,
  head          text collate "C",
  sealed_at     timestamptz not null default clock_timestamp(),
  digest        bytea not null
);
comment on table seals is 'Segments whose rows can no longer change, by digests of their rows as a reconcile that held read them.';
comment on column seals.tables is 'By table: number of rows and SHA-256 of the rows of the segment in their order.';
comment on column seals.head is 'The last head of the chain that was kept in the segment or before it; head_sequence is its event. Null: the chain begins later.';
comment on column seals.digest is 'SHA-256 of the digest of the seal before and of this row.';

create table scrubs (
  segment integer not null,
  read_at timestamptz not null default clock_timestamp(),
  holds   boolean not null,
  primary key (segment, read_at)
);
comment on table scrubs is 'Readings of sealed segments; holds: their rows were as sealed.';

create table backups (
  kind     text collate "C" primary key,
  begun_at timestamptz not null default clock_timestamp(),
  at       timestamptz
);
comment on table backups is 'The last backup of each kind: postgres, engine, and rehearsal for a restore that was tried. begun_at: when the first attempt after it began.';
`;

const APPEND_ONLY = [
  'adopted_balances',
  'adopted_fills',
  'adopted_prices',
  'adoptions',
  'chain_heads',
  'chain_links',
  'closing_balances',
  'closings',
  'ended_orders',
  'epoch_starts',
  'kept_balances',
  'late_orders',
  'market_versions',
  'movements',
  'operator_acts',
  'reconciliations',
  'scrubs',
  'seals',
  'segments',
  'setting_changes',
  'trades',
] as const;

const REFUSALS = `
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
${APPEND_ONLY.map(
  (table) => `create trigger append_only before update or delete or truncate on ${table}
  for each statement execute function refuse_change();`,
).join('\n')}
`;

/**
 * Segments of ended orders, trades and chain links, by ranges of events.
 *
 * `add_segments` runs with the rights of the owner of the tables, because settlement owns none, and can only make what
 * is missing ahead of an event. A segment is made as a table and attached then: that waits for no reader and no writer,
 * as a partition that is created in its parent would. A trigger of a parent does not see a statement on a segment, so each
 * segment has its own.
 */
const SEGMENTS = `
create schema segments;
comment on schema segments is 'Parts of ended_orders, trades and chain_links. Read their parents.';

create table segments (
  number        integer primary key,
  from_sequence bigint not null,
  to_sequence   bigint not null,
  made_after    bigint not null,
  made_at       timestamptz not null default clock_timestamp(),
  check (to_sequence > from_sequence)
);
comment on table segments is 'Ranges of events in which ended_orders, trades and chain_links are divided.';
comment on column segments.from_sequence is 'The first event of the segment.';
comment on column segments.to_sequence is 'The first event of the next one.';
comment on column segments.made_after is 'The last settled event when the segment was made.';

-- Returns the largest power of two that is at most the events of a day, at the rate since the newest segment was made: at
-- least 2^22 and at most 16 times the segment before, because a backlog is settled faster than it was traded. A reconcile
-- checks a segment until it is full. A list walks an index of each segment that it needs, so they are not narrower.
create function segment_width(newest segments) returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  fixed text := nullif(current_setting('redbook.segment_events', true), '');
  width bigint := 4194304;
  day numeric;
begin
  if fixed is not null then
    return fixed;
  end if;
  select (sequence - newest.made_after) * 86400
    / greatest(extract(epoch from clock_timestamp() - newest.made_at), 1) into day
  from public.engine_cursor;
  while width * 2 <= day and width < (newest.to_sequence - newest.from_sequence) * 16 loop
    width := width * 2;
  end loop;
  return width;
end $$;

create function add_segment(newest segments) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  nth integer := coalesce(newest.number + 1, 0);
  first bigint := coalesce(newest.to_sequence, 0);
  beyond bigint := first + public.segment_width(newest);
  parent text;
  reader name;
begin
  foreach parent in array array['ended_orders', 'trades', 'chain_links'] loop
    execute format('create table segments.%s_%s (like public.%1$s including all)', parent, nth);
    execute format('create trigger append_only before update or delete or truncate on segments.%s_%s
      for each statement execute function public.refuse_change()', parent, nth);
    for reader in select pg_get_userbyid(grantee) from pg_class cross join lateral aclexplode(relacl)
      where oid = format('public.%s', parent)::regclass and privilege_type = 'SELECT' and grantee not in (0, relowner) loop
      execute format('grant select on segments.%s_%s to %I', parent, nth, reader);
    end loop;
  end loop;
  execute format('alter table segments.ended_orders_%s add primary key (id)', nth);
  execute format('create unique index ended_orders_%s_client_order_id on segments.ended_orders_%1$s
    (wallet, client_order_id) where client_order_id is not null', nth);
  execute format('alter table segments.trades_%s add primary key (trade_id)', nth);
  foreach parent in array array['ended_orders', 'trades', 'chain_links'] loop
    execute format('alter table public.%s attach partition segments.%1$s_%s for values from (%s) to (%s)',
      parent, nth, first, beyond);
  end loop;
  insert into public.segments (number, from_sequence, to_sequence, made_after)
  select nth, first, beyond, sequence from public.engine_cursor;
end $$;

-- Makes segments until one begins after an event, and returns its first event. Settlement asks before it writes events of
-- the newest segment, so there is always one ahead.
create function add_segments(reached bigint) returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  newest public.segments;
begin
  select * into newest from public.segments order by number desc limit 1;
  if newest.from_sequence > reached then
    return newest.from_sequence;
  end if;
  lock table public.segments in share row exclusive mode;
  for made in 0..100 loop
    select * into newest from public.segments order by number desc limit 1;
    if newest.from_sequence > reached then
      return newest.from_sequence;
    end if;
    perform public.add_segment(newest);
  end loop;
  raise exception 'event % lies more than 100 segments ahead', reached;
end $$;
revoke execute on function segment_width(segments), add_segment(segments), add_segments(bigint) from public;
`;

export const up = (knex: Knex) =>
  knex.raw(
    [
      ENGINE,
      SETTINGS,
      TRADING,
      MONEY,
      ADOPTIONS,
      ENTRIES,
      CLOSINGS,
      CHAIN,
      OPERATORS,
      CHECKS,
      SEGMENTS,
      REFUSALS,
      'select add_segments(0);',
    ].join(''),
  );
