-- The schema that all migrations make of an empty database. `npm run -s proofs -- schema` writes this file anew.
-- It is read and compared, never run: migrations/ makes the tables.

create table adopted_balances (
  account text collate "C" not null,
  sequence bigint not null,
  asset text collate "C" not null,
  line integer not null,
  amount_atoms bigint not null,
  time_ms bigint not null,
  constraint adopted_balances_amount_atoms_check CHECK (amount_atoms <> 0),
  constraint adopted_balances_pkey PRIMARY KEY (account, sequence, asset)
);

create table adopted_fills (
  order_id text collate "C" not null,
  sequence bigint not null,
  steps bigint not null,
  time_ms bigint not null,
  constraint adopted_fills_pkey PRIMARY KEY (order_id, sequence),
  constraint adopted_fills_steps_check CHECK (steps > 0)
);

create table adopted_prices (
  market text collate "C" not null,
  sequence bigint not null,
  price_ticks bigint not null,
  time_ms bigint not null,
  constraint adopted_prices_pkey PRIMARY KEY (market, sequence)
);

create table adoptions (
  sequence bigint not null,
  after_sequence bigint not null,
  last_trade_id bigint not null,
  time_ms bigint not null,
  constraint adoptions_check CHECK (sequence > after_sequence),
  constraint adoptions_pkey PRIMARY KEY (sequence)
);

create table announced_deposits (
  reference text collate "C" not null,
  sequence bigint not null,
  constraint announced_deposits_pkey PRIMARY KEY (reference),
  constraint announced_deposits_sequence_key UNIQUE (sequence)
);

create table assets (
  symbol text collate "C" not null,
  scale smallint not null,
  constraint assets_pkey PRIMARY KEY (symbol)
);

create table backups (
  kind text collate "C" not null,
  begun_at timestamp with time zone default clock_timestamp() not null,
  at timestamp with time zone,
  constraint backups_pkey PRIMARY KEY (kind)
);

create table candles (
  market text collate "C" not null,
  open_ms bigint not null,
  open_ticks bigint not null,
  high_ticks bigint not null,
  low_ticks bigint not null,
  close_ticks bigint not null,
  volume_steps numeric not null,
  quote_atoms numeric not null,
  first_trade_id bigint not null,
  last_trade_id bigint not null,
  timeframe text collate "C" not null,
  constraint candles_pkey PRIMARY KEY (market, timeframe, open_ms)
) with (fillfactor=80);

create table cap_reservations (
  key text collate "C" not null,
  kind text collate "C" not null,
  reference text collate "C" not null,
  asset text collate "C" not null,
  atoms bigint not null,
  day date not null,
  holders integer not null,
  is_moved boolean default false not null,
  constraint cap_reservations_pkey PRIMARY KEY (key, kind, reference, asset, atoms)
);

create table chain_heads (
  sequence bigint not null,
  head text collate "C" not null,
  constraint chain_heads_pkey PRIMARY KEY (sequence)
);

create table chain_links (
  sequence bigint not null,
  links text collate "C" not null,
  constraint chain_links_pkey PRIMARY KEY (sequence)
) partition by RANGE (sequence);

create table closing_balances (
  closing bigint not null,
  account text collate "C" not null,
  asset text collate "C" not null,
  total_atoms numeric not null,
  reserved_atoms numeric not null,
  constraint closing_balances_pkey PRIMARY KEY (closing, account, asset)
);

create table closings (
  id bigint not null,
  month text collate "C" not null,
  end_ms bigint not null,
  sequence bigint not null,
  digest bytea not null,
  constraint closings_month_check CHECK (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'::text),
  constraint closings_month_digest_key UNIQUE (month, digest),
  constraint closings_pkey PRIMARY KEY (id)
);

create table ended_orders (
  id text collate "C" not null,
  wallet text collate "C" not null,
  market text collate "C" not null,
  side text not null,
  type text not null,
  time_in_force text not null,
  post_only boolean not null,
  leverage double precision,
  price_ticks bigint,
  size_steps bigint not null,
  filled_steps bigint not null,
  status text not null,
  reject_reason text,
  client_order_id text collate "C",
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  sequence bigint not null,
  updated_sequence bigint not null,
  closed_sequence bigint,
  base text not null,
  quote text not null,
  base_atoms_per_step bigint not null,
  quote_atoms_per_lot bigint not null,
  fill_count bigint default 0 not null,
  reason text,
  constraint ended_orders_check CHECK (filled_steps >= 0 AND filled_steps <= size_steps),
  constraint ended_orders_closed_sequence_check CHECK (closed_sequence IS NOT NULL),
  constraint ended_orders_side_check CHECK (side = ANY (ARRAY['buy'::text, 'sell'::text])),
  constraint ended_orders_status_check CHECK (status <> ALL (ARRAY['open'::text, 'resting'::text, 'partially_filled'::text])),
  constraint ended_orders_type_check CHECK (type = ANY (ARRAY['limit'::text, 'market'::text]))
) partition by RANGE (sequence);

create table engine_copies (
  shard smallint default 0 not null,
  server text collate "C" not null,
  run_id text collate "C",
  version integer default 1 not null,
  mark text collate "C" default gen_random_uuid() not null,
  epoch integer default 0 not null,
  begun_on text collate "C" not null,
  members text[] collate "C" not null,
  joining text[] collate "C" default '{}'::text[] not null,
  former text[] collate "C" default '{}'::text[] not null,
  named_at timestamp with time zone,
  constraint engine_copies_pkey PRIMARY KEY (shard),
  constraint engine_copies_shard_check CHECK (shard = 0)
);

create table engine_cursor (
  only_row boolean default true not null,
  epoch bigint not null,
  sequence bigint not null,
  digest text,
  event_time_ms bigint,
  settled_at timestamp with time zone,
  orders bigint default 0 not null,
  trades bigint default 0 not null,
  movements bigint default 0 not null,
  head text collate "C" default ''::text not null,
  constraint engine_cursor_only_row_check CHECK (only_row),
  constraint engine_cursor_pkey PRIMARY KEY (only_row)
);

create table engine_epochs (
  epoch integer not null,
  server text collate "C" not null,
  begun_at timestamp with time zone default clock_timestamp() not null,
  constraint engine_epochs_pkey PRIMARY KEY (epoch)
);

create table engine_lists (
  version integer not null,
  mark text collate "C" not null,
  constraint engine_lists_pkey PRIMARY KEY (version)
);

create table epoch_starts (
  epoch integer not null,
  sequence bigint not null,
  constraint epoch_starts_pkey PRIMARY KEY (epoch)
);

create table holds (
  wallet text collate "C" not null,
  held_at_ms bigint not null,
  constraint holds_pkey PRIMARY KEY (wallet)
);

create table kept_balances (
  sequence bigint not null,
  account text collate "C" not null,
  asset text collate "C" not null,
  total_atoms numeric not null,
  constraint kept_balances_pkey PRIMARY KEY (sequence, account, asset)
);

create table late_orders (
  id text collate "C" not null,
  wallet text collate "C" not null,
  market text collate "C" not null,
  side text not null,
  type text not null,
  time_in_force text not null,
  post_only boolean not null,
  leverage double precision,
  price_ticks bigint,
  size_steps bigint not null,
  filled_steps bigint not null,
  status text not null,
  reject_reason text,
  client_order_id text collate "C",
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  sequence bigint not null,
  updated_sequence bigint not null,
  closed_sequence bigint,
  base text not null,
  quote text not null,
  base_atoms_per_step bigint not null,
  quote_atoms_per_lot bigint not null,
  fill_count bigint default 0 not null,
  reason text,
  constraint late_orders_check CHECK (filled_steps >= 0 AND filled_steps <= size_steps),
  constraint late_orders_closed_sequence_check CHECK (closed_sequence IS NOT NULL),
  constraint late_orders_pkey PRIMARY KEY (id),
  constraint late_orders_side_check CHECK (side = ANY (ARRAY['buy'::text, 'sell'::text])),
  constraint late_orders_status_check CHECK (status <> ALL (ARRAY['open'::text, 'resting'::text, 'partially_filled'::text])),
  constraint late_orders_type_check CHECK (type = ANY (ARRAY['limit'::text, 'market'::text]))
);

create table live_orders (
  id text collate "C" not null,
  wallet text collate "C" not null,
  market text collate "C" not null,
  side text not null,
  type text not null,
  time_in_force text not null,
  post_only boolean not null,
  leverage double precision,
  price_ticks bigint,
  size_steps bigint not null,
  filled_steps bigint not null,
  status text not null,
  reject_reason text,
  client_order_id text collate "C",
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  sequence bigint not null,
  updated_sequence bigint not null,
  closed_sequence bigint,
  base text not null,
  quote text not null,
  base_atoms_per_step bigint not null,
  quote_atoms_per_lot bigint not null,
  fill_count bigint default 0 not null,
  reason text,
  constraint live_orders_check CHECK (filled_steps >= 0 AND filled_steps <= size_steps),
  constraint live_orders_check1 CHECK (reject_reason IS NULL AND reason IS NULL),
  constraint live_orders_closed_sequence_check CHECK (closed_sequence IS NULL),
  constraint live_orders_pkey PRIMARY KEY (id),
  constraint live_orders_side_check CHECK (side = ANY (ARRAY['buy'::text, 'sell'::text])),
  constraint live_orders_status_check CHECK (status = ANY (ARRAY['open'::text, 'resting'::text, 'partially_filled'::text])),
  constraint live_orders_type_check CHECK (type = ANY (ARRAY['limit'::text, 'market'::text]))
) with (fillfactor=50);

create table market_versions (
  market text collate "C" not null,
  sequence bigint not null,
  fee_bps integer not null,
  record jsonb not null,
  time_ms bigint not null,
  constraint market_versions_pkey PRIMARY KEY (market, sequence)
);

create table markets (
  symbol text collate "C" not null,
  number integer not null,
  version bigint not null,
  record jsonb not null,
  constraint markets_number_key UNIQUE (number),
  constraint markets_pkey PRIMARY KEY (symbol)
);

create table movements (
  sequence bigint not null,
  kind text not null,
  wallet text collate "C" not null,
  asset text collate "C" not null,
  amount_atoms bigint not null,
  reference text collate "C" not null,
  time_ms bigint not null,
  reverses text collate "C",
  txid text collate "C",
  owed_atoms bigint default 0 not null,
  constraint movements_amount_atoms_check CHECK (amount_atoms > 0),
  constraint movements_check CHECK (owed_atoms >= 0 AND owed_atoms <= amount_atoms),
  constraint movements_kind_check CHECK (kind = ANY (ARRAY['credited'::text, 'debited'::text, 'requested'::text, 'confirmed'::text, 'returned'::text, 'announced'::text, 'dropped'::text])),
  constraint movements_kind_reference_key UNIQUE (kind, reference),
  constraint movements_pkey PRIMARY KEY (sequence)
);

create table operator_acts (
  sequence bigint not null,
  name text collate "C" not null,
  operator text collate "C" not null,
  reason text not null,
  wallet text collate "C",
  market text collate "C",
  asset text collate "C",
  subject text collate "C",
  before text,
  after text,
  time_ms bigint not null,
  constraint operator_acts_pkey PRIMARY KEY (sequence)
);

create table operator_key_days (
  key text collate "C" not null,
  day date not null,
  asset text collate "C" not null,
  atoms numeric default 0 not null,
  constraint operator_key_days_pkey PRIMARY KEY (key, day, asset)
);

create table operator_keys (
  name text collate "C" not null,
  digest bytea not null,
  rights text[] not null,
  caps jsonb not null,
  two_persons jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  revoked_at timestamp with time zone,
  constraint operator_keys_digest_key UNIQUE (digest),
  constraint operator_keys_pkey PRIMARY KEY (name)
);

create table pending_withdrawals (
  reference text collate "C" not null,
  sequence bigint not null,
  constraint pending_withdrawals_pkey PRIMARY KEY (reference),
  constraint pending_withdrawals_sequence_key UNIQUE (sequence)
);

create table reconciliations (
  id bigint not null,
  finished_at timestamp with time zone default clock_timestamp() not null,
  sequence bigint not null,
  checks integer not null,
  differences bigint not null,
  failed_checks text[] not null,
  results jsonb,
  link bytea not null,
  constraint reconciliations_pkey PRIMARY KEY (id)
);

create table scrubs (
  segment integer not null,
  read_at timestamp with time zone default clock_timestamp() not null,
  holds boolean not null,
  constraint scrubs_pkey PRIMARY KEY (segment, read_at)
);

create table seals (
  segment integer not null,
  from_sequence bigint not null,
  to_sequence bigint not null,
  tables jsonb not null,
  head_sequence bigint,
  head text collate "C",
  sealed_at timestamp with time zone default clock_timestamp() not null,
  digest bytea not null,
  constraint seals_pkey PRIMARY KEY (segment)
);

create table segments (
  number integer not null,
  from_sequence bigint not null,
  to_sequence bigint not null,
  made_after bigint not null,
  made_at timestamp with time zone default clock_timestamp() not null,
  constraint segments_check CHECK (to_sequence > from_sequence),
  constraint segments_pkey PRIMARY KEY (number)
);

create table setting_changes (
  sequence bigint not null,
  kind text collate "C" not null,
  subject text collate "C",
  value text,
  time_ms bigint not null,
  constraint setting_changes_pkey PRIMARY KEY (sequence)
);

create table taken_withdrawals (
  reference text collate "C" not null,
  take text not null,
  until_ms bigint not null,
  taken_at_ms bigint not null,
  constraint taken_withdrawals_pkey PRIMARY KEY (reference)
);

create table trades (
  trade_id bigint not null,
  sequence bigint not null,
  market text collate "C" not null,
  taker_side text not null,
  price_ticks bigint not null,
  size_steps bigint not null,
  base_atoms bigint not null,
  notional_atoms bigint not null,
  fee_atoms bigint not null,
  taker_order_id text collate "C" not null,
  maker_order_id text collate "C" not null,
  taker_wallet text collate "C" not null,
  maker_wallet text collate "C" not null,
  time_ms bigint not null,
  base text not null,
  quote text not null,
  base_atoms_per_step bigint not null,
  quote_atoms_per_lot bigint not null,
  constraint trades_taker_side_check CHECK (taker_side = ANY (ARRAY['buy'::text, 'sell'::text]))
) partition by RANGE (sequence);

create table trading_switches (
  only_row boolean default true not null,
  paused boolean not null,
  terms_version text,
  constraint trading_switches_only_row_check CHECK (only_row),
  constraint trading_switches_pkey PRIMARY KEY (only_row)
);

create table waiting_movements (
  number bigint generated by default as identity not null,
  side text not null,
  reference text collate "C" not null,
  kind text not null,
  wallet text collate "C" not null,
  asset text collate "C" not null,
  amount_atoms bigint not null,
  scale smallint not null,
  reverses text collate "C",
  key text collate "C" not null,
  reason text not null,
  state text not null,
  asked_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  constraint waiting_movements_amount_atoms_check CHECK (amount_atoms > 0),
  constraint waiting_movements_pkey PRIMARY KEY (side, reference),
  constraint waiting_movements_side_check CHECK (side = ANY (ARRAY['deposit'::text, 'withdrawal'::text])),
  constraint waiting_movements_state_check CHECK (state = ANY (ARRAY['waiting'::text, 'approved'::text, 'refused'::text]))
);

create table wallet_terms (
  wallet text collate "C" not null,
  version text not null,
  accepted_at_ms bigint not null,
  constraint wallet_terms_pkey PRIMARY KEY (wallet)
);

create view ledger_entries as
 SELECT trades.sequence,
    ((row_number() OVER (PARTITION BY trades.sequence ORDER BY trades.trade_id, booked.place) - 1))::integer AS line,
    (('trade-'::text || trades.trade_id) COLLATE "C") AS transaction_id,
    booked.kind,
        CASE booked.role
            WHEN 'taker'::text THEN trades.taker_wallet
            WHEN 'maker'::text THEN trades.maker_wallet
            ELSE 'house'::text
        END AS account,
    (
        CASE booked.amount
            WHEN 'base'::text THEN trades.base
            ELSE trades.quote
        END COLLATE "C") AS asset,
    ((booked.way *
        CASE
            WHEN ((booked.amount = 'fee'::text) OR (trades.taker_side = 'buy'::text)) THEN 1
            ELSE '-1'::integer
        END) * moved.atoms) AS amount_atoms,
        CASE booked.role
            WHEN 'maker'::text THEN trades.maker_order_id
            ELSE trades.taker_order_id
        END AS reference,
    trades.time_ms
   FROM ((trades
     CROSS JOIN ( VALUES (0,'trade'::text,'taker'::text,'base'::text,1), (1,'trade'::text,'maker'::text,'base'::text,'-1'::integer), (2,'trade'::text,'taker'::text,'notional'::text,'-1'::integer), (3,'trade'::text,'maker'::text,'notional'::text,1), (4,'fee'::text,'taker'::text,'fee'::text,'-1'::integer), (5,'fee'::text,'house'::text,'fee'::text,1)) booked(place, kind, role, amount, way))
     CROSS JOIN LATERAL ( SELECT
                CASE booked.amount
                    WHEN 'base'::text THEN trades.base_atoms
                    WHEN 'notional'::text THEN trades.notional_atoms
                    ELSE trades.fee_atoms
                END AS atoms) moved)
  WHERE (moved.atoms <> 0)
UNION ALL
 SELECT movements.sequence,
    booked.line,
    (((booked.kind || '-'::text) || movements.sequence) COLLATE "C") AS transaction_id,
    booked.kind,
    COALESCE(booked.account, movements.wallet) AS account,
    movements.asset,
    (booked.way * movements.amount_atoms) AS amount_atoms,
    movements.reference,
    movements.time_ms
   FROM (movements
     JOIN ( VALUES ('credited'::text,0,'credit'::text,'custody'::text,'-1'::integer), ('credited'::text,1,'credit'::text,NULL::text,1), ('debited'::text,0,'debit'::text,'custody'::text,1), ('debited'::text,1,'debit'::text,NULL::text,'-1'::integer), ('requested'::text,0,'request'::text,'withdrawals'::text,1), ('requested'::text,1,'request'::text,NULL::text,'-1'::integer), ('confirmed'::text,0,'confirm'::text,'custody'::text,1), ('confirmed'::text,1,'confirm'::text,'withdrawals'::text,'-1'::integer), ('returned'::text,0,'return'::text,'withdrawals'::text,'-1'::integer), ('returned'::text,1,'return'::text,NULL::text,1)) booked(movement, line, kind, account, way) ON ((booked.movement = movements.kind)))
UNION ALL
 SELECT movements.sequence,
    booked.line,
    (((
        CASE movements.kind
            WHEN 'credited'::text THEN 'credit'::text
            WHEN 'debited'::text THEN 'debit'::text
            ELSE 'return'::text
        END || '-'::text) || movements.sequence) COLLATE "C") AS transaction_id,
    'receivable'::text AS kind,
    (
        CASE booked.line
            WHEN 2 THEN 'receivable:'::text
            ELSE ''::text
        END || movements.wallet) AS account,
    movements.asset,
    (
        CASE movements.kind
            WHEN 'debited'::text THEN booked.way
            ELSE (- booked.way)
        END * movements.owed_atoms) AS amount_atoms,
    movements.reference,
    movements.time_ms
   FROM (movements
     CROSS JOIN ( VALUES (2,'-1'::integer), (3,1)) booked(line, way))
  WHERE (movements.owed_atoms <> 0)
UNION ALL
 SELECT adopted.sequence,
    adopted.line,
    (('adopt-'::text || adopted.sequence) COLLATE "C") AS transaction_id,
    'adopt'::text AS kind,
    adopted.account,
    adopted.asset,
    adopted.amount_atoms,
    (('adopt-'::text || adopted.sequence) COLLATE "C") AS reference,
    adopted.time_ms
   FROM adopted_balances adopted;
create view orders as
 SELECT live_orders.id,
    live_orders.wallet,
    live_orders.market,
    live_orders.side,
    live_orders.type,
    live_orders.time_in_force,
    live_orders.post_only,
    live_orders.leverage,
    live_orders.price_ticks,
    live_orders.size_steps,
    live_orders.filled_steps,
    live_orders.status,
    live_orders.reject_reason,
    live_orders.client_order_id,
    live_orders.created_at_ms,
    live_orders.updated_at_ms,
    live_orders.sequence,
    live_orders.updated_sequence,
    live_orders.closed_sequence,
    live_orders.base,
    live_orders.quote,
    live_orders.base_atoms_per_step,
    live_orders.quote_atoms_per_lot,
    live_orders.fill_count,
    live_orders.reason
   FROM live_orders
UNION ALL
 SELECT ended_orders.id,
    ended_orders.wallet,
    ended_orders.market,
    ended_orders.side,
    ended_orders.type,
    ended_orders.time_in_force,
    ended_orders.post_only,
    ended_orders.leverage,
    ended_orders.price_ticks,
    ended_orders.size_steps,
    ended_orders.filled_steps,
    ended_orders.status,
    ended_orders.reject_reason,
    ended_orders.client_order_id,
    ended_orders.created_at_ms,
    ended_orders.updated_at_ms,
    ended_orders.sequence,
    ended_orders.updated_sequence,
    ended_orders.closed_sequence,
    ended_orders.base,
    ended_orders.quote,
    ended_orders.base_atoms_per_step,
    ended_orders.quote_atoms_per_lot,
    ended_orders.fill_count,
    ended_orders.reason
   FROM ended_orders
UNION ALL
 SELECT late_orders.id,
    late_orders.wallet,
    late_orders.market,
    late_orders.side,
    late_orders.type,
    late_orders.time_in_force,
    late_orders.post_only,
    late_orders.leverage,
    late_orders.price_ticks,
    late_orders.size_steps,
    late_orders.filled_steps,
    late_orders.status,
    late_orders.reject_reason,
    late_orders.client_order_id,
    late_orders.created_at_ms,
    late_orders.updated_at_ms,
    late_orders.sequence,
    late_orders.updated_sequence,
    late_orders.closed_sequence,
    late_orders.base,
    late_orders.quote,
    late_orders.base_atoms_per_step,
    late_orders.quote_atoms_per_lot,
    late_orders.fill_count,
    late_orders.reason
   FROM late_orders;

CREATE INDEX adopted_balances_of_event ON public.adopted_balances USING btree (sequence, line);
CREATE INDEX ended_orders_by_time ON ONLY public.ended_orders USING brin (created_at_ms, updated_at_ms) WITH (autosummarize='on');
CREATE INDEX ended_orders_ended ON ONLY public.ended_orders USING btree (wallet, closed_sequence) WHERE ((reason IS NOT NULL) AND (closed_sequence > sequence));
CREATE INDEX ended_orders_newest ON ONLY public.ended_orders USING btree (wallet, sequence) WHERE (closed_sequence IS NOT NULL);
CREATE INDEX ended_orders_of_market ON ONLY public.ended_orders USING btree (market, wallet, sequence) WHERE (closed_sequence IS NOT NULL);
CREATE INDEX late_orders_by_event ON public.late_orders USING brin (sequence, closed_sequence) WITH (autosummarize='on');
CREATE INDEX late_orders_by_time ON public.late_orders USING brin (created_at_ms, updated_at_ms) WITH (autosummarize='on');
CREATE INDEX late_orders_ended ON public.late_orders USING btree (wallet, closed_sequence) WHERE ((reason IS NOT NULL) AND (closed_sequence > sequence));
CREATE INDEX late_orders_newest ON public.late_orders USING btree (wallet, sequence) WHERE (closed_sequence IS NOT NULL);
CREATE INDEX late_orders_of_market ON public.late_orders USING btree (market, wallet, sequence) WHERE (closed_sequence IS NOT NULL);
CREATE INDEX live_orders_newest ON public.live_orders USING btree (wallet, sequence) WHERE (closed_sequence IS NULL);
CREATE INDEX live_orders_of_market ON public.live_orders USING btree (market, wallet, sequence) WHERE (closed_sequence IS NULL);
CREATE INDEX movements_of_wallet ON public.movements USING btree (wallet, sequence);
CREATE INDEX movements_owed ON public.movements USING btree (sequence) WHERE (owed_atoms <> 0);
CREATE INDEX movements_reverses ON public.movements USING btree (kind, reverses) WHERE (reverses IS NOT NULL);
CREATE INDEX movements_steps ON public.movements USING btree (kind, sequence) WHERE (kind = ANY (ARRAY['requested'::text, 'confirmed'::text, 'returned'::text]));
CREATE INDEX operator_acts_listings ON public.operator_acts USING btree (sequence) WHERE (name = 'asset list'::text);
CREATE INDEX operator_acts_market ON public.operator_acts USING btree (market, sequence) WHERE (market IS NOT NULL);
CREATE INDEX operator_acts_months ON public.operator_acts USING btree (subject, sequence) WHERE (name = ANY (ARRAY['ledger close'::text, 'ledger reopen'::text]));
CREATE INDEX operator_acts_operator ON public.operator_acts USING btree (operator, sequence);
CREATE INDEX operator_acts_wallet ON public.operator_acts USING btree (wallet, sequence) WHERE (wallet IS NOT NULL);
CREATE INDEX setting_changes_takes ON public.setting_changes USING btree (sequence) WHERE (kind = ANY (ARRAY['withdrawal_taken'::text, 'withdrawal_released'::text]));
CREATE INDEX trades_maker ON ONLY public.trades USING btree (maker_wallet, market, trade_id);
CREATE INDEX trades_of_event ON ONLY public.trades USING btree (sequence, trade_id);
CREATE INDEX trades_of_maker_order ON ONLY public.trades USING btree (maker_order_id, trade_id);
CREATE INDEX trades_public ON ONLY public.trades USING btree (market, taker_side, time_ms, trade_id);
CREATE INDEX trades_taker ON ONLY public.trades USING btree (taker_wallet, market, trade_id);
CREATE INDEX waiting_movements_of_keys ON public.waiting_movements USING btree (key, state);
CREATE UNIQUE INDEX late_orders_client_order_id ON public.late_orders USING btree (wallet, client_order_id) WHERE (client_order_id IS NOT NULL);
CREATE UNIQUE INDEX live_orders_client_order_id ON public.live_orders USING btree (wallet, client_order_id) WHERE (client_order_id IS NOT NULL);
CREATE UNIQUE INDEX movements_deposit_ends ON public.movements USING btree (reference) WHERE (kind = ANY (ARRAY['credited'::text, 'dropped'::text]));
CREATE UNIQUE INDEX movements_ends ON public.movements USING btree (reference) WHERE (kind = ANY (ARRAY['confirmed'::text, 'returned'::text]));
CREATE UNIQUE INDEX movements_withdrawals ON public.movements USING btree (reference) WHERE (kind = ANY (ARRAY['debited'::text, 'requested'::text]));
CREATE UNIQUE INDEX waiting_movements_list ON public.waiting_movements USING btree (number) WHERE (state = 'waiting'::text);

CREATE OR REPLACE FUNCTION public.add_segment(newest segments)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.add_segments(reached bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_used_ids(live_wallets text[], live_ids text[], ended_wallets text[], ended_ids text[], ended_sequences bigint[], last bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.segment_width(newest segments)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON adopted_balances FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON adopted_fills FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON adopted_prices FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON adoptions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON chain_heads FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON chain_links FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON closing_balances FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON closings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ended_orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON epoch_starts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON kept_balances FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON late_orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON market_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON movements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON operator_acts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON reconciliations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON scrubs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON seals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON segments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON setting_changes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON trades FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

comment on column adoptions.last_trade_id is 'The last trade id that the engine had given out by then.';
comment on column assets.scale is 'Decimals of one atom of the asset.';
comment on column candles.quote_atoms is 'Price x size.';
comment on column candles.timeframe is '1m, 1h or 1D';
comment on column cap_reservations.holders is 'Requests that have asked the engine, or will, to move this amount.';
comment on column cap_reservations.is_moved is 'The engine has moved it: nothing gives it back.';
comment on column chain_links.sequence is 'The last event of the batch.';
comment on column closings.digest is 'SHA-256 of the balances of the closing.';
comment on column closings.sequence is 'The last booked event before the end; 0: none.';
comment on column engine_copies.epoch is 'The last epoch that began while the engine had copies; begun_on is its server.';
comment on column engine_copies.former is 'Servers that left as too few remained for an answer, and may be named.';
comment on column engine_copies.joining is 'Servers that answers wait for already, and that may not be named yet.';
comment on column engine_copies.mark is 'Tells a version from another one of the same number, after Postgres was put back.';
comment on column engine_copies.members is 'Servers that have every answered order, and may be named.';
comment on column engine_copies.named_at is 'When another server was named last.';
comment on column engine_copies.run_id is 'Run id under which it was found fit to lead: no epoch begins under another one.';
comment on column engine_copies.server is 'The primary, by the name that REDIS_URL gives it: no epoch begins elsewhere.';
comment on column engine_cursor.digest is 'SHA-256 of that event: the same place must always hold the same content.';
comment on column engine_cursor.head is 'Head of the chain after that event, in base64.';
comment on column engine_cursor.orders is 'Orders that were ever settled; no row of theirs is ever deleted.';
comment on column engine_epochs.server is 'Run id of the engine''s Redis on which the epoch began.';
comment on column ledger_entries.amount_atoms is 'Positive: the account received.';
comment on column ledger_entries.reference is 'The account''s order, or the reference of a deposit or withdrawal.';
comment on column markets.record is 'The whole record; integers beyond 2^53 are strings.';
comment on column movements.owed_atoms is 'Part that the wallet owes since a reversal; of a deposit or a return, the part that paid what it owed.';
comment on column movements.reverses is 'Reference of the movement of the other kind that this one corrects.';
comment on column movements.txid is 'Transaction that paid a confirmed withdrawal.';
comment on column operator_acts.after is 'What there is since, in the same words.';
comment on column operator_acts.before is 'What there was: available atoms, terms, a scale, a record of a market, the digest of a closing, or on for a hold and a pause.';
comment on column operator_acts.name is 'The command, like account hold.';
comment on column operator_acts.operator is 'Name of the person or of the key.';
comment on column operator_acts.subject is 'Reference, order id, month or key that the act was about.';
comment on column operator_keys.caps is 'Maximum that the key may move in a day (UTC), by asset, as decimals.';
comment on column operator_keys.digest is 'SHA-256 of the key, which is nowhere kept.';
comment on column operator_keys.two_persons is 'Maximum that the key may move without the approval of another, by asset, as decimals.';
comment on column orders.closed_sequence is 'Engine event that ended it; null while it is live.';
comment on column orders.fill_count is 'Trades the order took part in, as taker or maker.';
comment on column orders.quote_atoms_per_lot is 'Quote atoms of one step at one tick.';
comment on column orders.reason is 'Why an order ended that was neither filled nor rejected; null: not recorded.';
comment on column orders.sequence is 'Engine event that placed the order.';
comment on column reconciliations.id is 'Numbers without gaps, from 1: each is one more than that of the row before.';
comment on column reconciliations.link is 'SHA-256 of the link of the row before and of this row.';
comment on column reconciliations.results is 'Result of each check: name, asset, what was compared, differences.';
comment on column reconciliations.sequence is 'Engine event up to which everything was settled at its end.';
comment on column seals.digest is 'SHA-256 of the digest of the seal before and of this row.';
comment on column seals.head is 'The last head of the chain that was kept in the segment or before it; head_sequence is its event. Null: the chain begins later.';
comment on column seals.tables is 'By table: number of rows and SHA-256 of the rows of the segment in their order.';
comment on column segments.from_sequence is 'The first event of the segment.';
comment on column segments.made_after is 'The last settled event when the segment was made.';
comment on column segments.to_sequence is 'The first event of the next one.';
comment on column setting_changes.subject is 'Wallet, asset or reference; null for the whole exchange.';
comment on column taken_withdrawals.take is 'Who pays it and until when, as JSON.';
comment on column trades.fee_atoms is 'Paid by the taker, in the quote asset.';
comment on column trading_switches.terms_version is 'The version a wallet must have accepted to trade; null: none.';
comment on column waiting_movements.number is 'Order of the list, new with each request.';
comment on column waiting_movements.scale is 'Decimals of the asset that the atoms were made with.';
comment on table adopted_balances is 'What the lost events of a seam changed of each account, in sum.';
comment on table adopted_fills is 'Steps of an order that lost trades filled. A lost order whose size is unknown has one.';
comment on table adopted_prices is 'The price of the last trade of a market, where the trade is lost.';
comment on table adoptions is 'Seams: events after after_sequence, up to sequence, are lost. Rows of these events were written as of the state of the engine.';
comment on table announced_deposits is 'Deposits that were announced, and are neither credited nor dropped.';
comment on table backups is 'The last backup of each kind: postgres, engine, and rehearsal for a restore that was tried. begun_at: when the first attempt after it began.';
comment on table candles is 'Executions of a market by minute, hour and day; those without any have no row.';
comment on table cap_reservations is 'Reserved amounts of the last days, each of which is in operator_key_days once.';
comment on table chain_heads is 'A head of every 10,000 events, and of closings. The first row is where the chain begins.';
comment on table chain_links is 'The checksum of the rows of each event, those of one batch in a row.';
comment on table closing_balances is 'Balances of all accounts at the end of the month of a closing, without those of nothing.';
comment on table closings is 'Figures of months (UTC). Those are in force whose digest the last act of the month has.';
comment on table ended_orders is 'Each order that ended in the segment in which it was placed, as it ended.';
comment on table engine_copies is 'Servers of an engine that has copies; one row for each engine.';
comment on table engine_cursor is 'The last engine event these tables contain; settlement locks this row.';
comment on table engine_epochs is 'Epochs of the engine that began, before any order was answered in them.';
comment on table engine_lists is 'The versions that engine_copies had. A server with another one shows that Postgres was put back.';
comment on table epoch_starts is 'The first event of each epoch. An engine that lost events gives their sequences again.';
comment on table holds is 'Wallets on custody hold; a release removes the row.';
comment on table kept_balances is 'Balances of all accounts right after an event, from which later ones are summed, without those of nothing.';
comment on table late_orders is 'Each order that ended in a later segment than the one in which it was placed, as it ended.';
comment on table live_orders is 'The live orders, and nothing else.';
comment on table market_versions is 'Each record that a market ever had, with the event from which it holds.';
comment on table movements is 'Deposits and withdrawals; a reference counts once a kind.';
comment on table operator_acts is 'Each change that an operator made, by its event.';
comment on table operator_key_days is 'Atoms that a key with a cap has moved or reserved in a day.';
comment on table operator_keys is 'Keys of the routes for operators. A name is never used twice.';
comment on table pending_withdrawals is 'Withdrawals that were requested, and are neither confirmed nor returned.';
comment on table reconciliations is 'Results of `ledger reconcile`; the books held when there were no differences.';
comment on table scrubs is 'Readings of sealed segments; holds: their rows were as sealed.';
comment on table seals is 'Segments whose rows can no longer change, by digests of their rows as a reconcile that held read them.';
comment on table segments is 'Ranges of events in which ended_orders, trades and chain_links are divided.';
comment on table setting_changes is 'Each change of a hold, of a take, of accepted or required terms, of an asset and of the pause.';
comment on table taken_withdrawals is 'Pending withdrawals that somebody pays.';
comment on table waiting_movements is 'Movements that a key asked for and another key has to approve.';
comment on view ledger_entries is 'Entry id: engine event and line in it. The lines of a transaction sum to 0 in each asset.';
comment on view orders is 'Each order ever recorded, with its present or final state.';
