SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.assets (
    symbol text NOT NULL COLLATE pg_catalog."C",
    scale smallint NOT NULL
);
COMMENT ON COLUMN public.assets.scale IS 'Decimals of one atom of the asset.';
CREATE TABLE public.candles (
    market text NOT NULL COLLATE pg_catalog."C",
    open_ms bigint NOT NULL,
    open_ticks bigint NOT NULL,
    high_ticks bigint NOT NULL,
    low_ticks bigint NOT NULL,
    close_ticks bigint NOT NULL,
    volume_steps numeric NOT NULL,
    quote_atoms numeric NOT NULL,
    first_trade_id bigint NOT NULL,
    last_trade_id bigint NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE public.candles IS 'Executions of a market and minute; minutes without any have no row.';
COMMENT ON COLUMN public.candles.quote_atoms IS 'Price x size.';
CREATE TABLE public.engine_cursor (
    only_row boolean DEFAULT true NOT NULL,
    epoch bigint NOT NULL,
    sequence bigint NOT NULL,
    digest text,
    event_time_ms bigint,
    settled_at timestamp with time zone,
    CONSTRAINT engine_cursor_only_row_check CHECK (only_row)
);
COMMENT ON TABLE public.engine_cursor IS 'The last engine event these tables contain; settlement locks this row.';
COMMENT ON COLUMN public.engine_cursor.digest IS 'SHA-256 of that event: the same place must always hold the same content.';
CREATE TABLE public.holds (
    wallet text NOT NULL COLLATE pg_catalog."C",
    held_at_ms bigint NOT NULL
);
COMMENT ON TABLE public.holds IS 'Wallets on custody hold; a release removes the row.';
CREATE TABLE public.knex_migrations (
    id integer NOT NULL,
    name character varying(255),
    batch integer,
    migration_time timestamp with time zone
);
CREATE SEQUENCE public.knex_migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.knex_migrations_id_seq OWNED BY public.knex_migrations.id;
CREATE TABLE public.knex_migrations_lock (
    index integer NOT NULL,
    is_locked integer
);
CREATE SEQUENCE public.knex_migrations_lock_index_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.knex_migrations_lock_index_seq OWNED BY public.knex_migrations_lock.index;
CREATE TABLE public.ledger_entries (
    sequence bigint NOT NULL,
    line integer NOT NULL,
    transaction_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    account text NOT NULL COLLATE pg_catalog."C",
    asset text NOT NULL COLLATE pg_catalog."C",
    amount_atoms bigint NOT NULL,
    reference text NOT NULL COLLATE pg_catalog."C",
    time_ms bigint NOT NULL,
    CONSTRAINT ledger_entries_amount_atoms_check CHECK ((amount_atoms <> 0)),
    CONSTRAINT ledger_entries_kind_check CHECK ((kind = ANY (ARRAY['trade'::text, 'fee'::text, 'credit'::text, 'debit'::text])))
);
COMMENT ON TABLE public.ledger_entries IS 'Entry id: engine event and line in it. Same events, same entries, however they were batched.';
COMMENT ON COLUMN public.ledger_entries.amount_atoms IS 'Positive: the account received.';
COMMENT ON COLUMN public.ledger_entries.reference IS 'The account''s order, or the reference of a deposit or withdrawal.';
CREATE TABLE public.markets (
    symbol text NOT NULL COLLATE pg_catalog."C",
    number integer NOT NULL,
    version bigint NOT NULL,
    record jsonb NOT NULL
);
COMMENT ON COLUMN public.markets.record IS 'The whole record; integers beyond 2^53 are strings.';
CREATE TABLE public.movements (
    sequence bigint NOT NULL,
    kind text NOT NULL,
    wallet text NOT NULL COLLATE pg_catalog."C",
    asset text NOT NULL COLLATE pg_catalog."C",
    amount_atoms bigint NOT NULL,
    reference text NOT NULL COLLATE pg_catalog."C",
    time_ms bigint NOT NULL,
    CONSTRAINT movements_kind_check CHECK ((kind = ANY (ARRAY['credited'::text, 'debited'::text])))
);
COMMENT ON TABLE public.movements IS 'Deposits and withdrawals; a reference counts once a kind.';
CREATE TABLE public.orders (
    id text NOT NULL COLLATE pg_catalog."C",
    wallet text NOT NULL COLLATE pg_catalog."C",
    market text NOT NULL COLLATE pg_catalog."C",
    side text NOT NULL,
    type text NOT NULL,
    time_in_force text NOT NULL,
    post_only boolean NOT NULL,
    leverage double precision,
    price_ticks bigint,
    size_steps bigint NOT NULL,
    filled_steps bigint NOT NULL,
    status text NOT NULL,
    reject_reason text,
    client_order_id text COLLATE pg_catalog."C",
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    sequence bigint NOT NULL,
    updated_sequence bigint NOT NULL,
    closed_sequence bigint,
    base text NOT NULL,
    quote text NOT NULL,
    base_atoms_per_step bigint NOT NULL,
    quote_atoms_per_lot bigint NOT NULL,
    CONSTRAINT orders_check CHECK (((filled_steps >= 0) AND (filled_steps <= size_steps))),
    CONSTRAINT orders_check1 CHECK (((closed_sequence IS NULL) = (status = ANY (ARRAY['open'::text, 'resting'::text, 'partially_filled'::text])))),
    CONSTRAINT orders_side_check CHECK ((side = ANY (ARRAY['buy'::text, 'sell'::text]))),
    CONSTRAINT orders_type_check CHECK ((type = ANY (ARRAY['limit'::text, 'market'::text])))
)
WITH (fillfactor='80');
COMMENT ON COLUMN public.orders.sequence IS 'Engine event that placed the order.';
COMMENT ON COLUMN public.orders.closed_sequence IS 'Engine event that ended it; null while it is live.';
COMMENT ON COLUMN public.orders.quote_atoms_per_lot IS 'Quote atoms of one step at one tick.';
CREATE TABLE public.reconciliations (
    id bigint NOT NULL,
    finished_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    sequence bigint NOT NULL,
    checks integer NOT NULL,
    differences bigint NOT NULL,
    failed_checks text[] NOT NULL
);
COMMENT ON TABLE public.reconciliations IS 'Results of `ledger reconcile`; the books held when there were no differences.';
COMMENT ON COLUMN public.reconciliations.sequence IS 'Engine event up to which everything was settled at its end.';
ALTER TABLE public.reconciliations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.reconciliations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.trades (
    trade_id bigint NOT NULL,
    sequence bigint NOT NULL,
    market text NOT NULL COLLATE pg_catalog."C",
    taker_side text NOT NULL,
    price_ticks bigint NOT NULL,
    size_steps bigint NOT NULL,
    base_atoms bigint NOT NULL,
    notional_atoms bigint NOT NULL,
    fee_atoms bigint NOT NULL,
    taker_order_id text NOT NULL COLLATE pg_catalog."C",
    maker_order_id text NOT NULL COLLATE pg_catalog."C",
    taker_wallet text NOT NULL COLLATE pg_catalog."C",
    maker_wallet text NOT NULL COLLATE pg_catalog."C",
    time_ms bigint NOT NULL,
    base text NOT NULL,
    quote text NOT NULL,
    base_atoms_per_step bigint NOT NULL,
    quote_atoms_per_lot bigint NOT NULL,
    CONSTRAINT trades_taker_side_check CHECK ((taker_side = ANY (ARRAY['buy'::text, 'sell'::text])))
);
COMMENT ON COLUMN public.trades.fee_atoms IS 'Paid by the taker, in the quote asset.';
CREATE TABLE public.trading_switches (
    only_row boolean DEFAULT true NOT NULL,
    paused boolean NOT NULL,
    terms_version text,
    CONSTRAINT trading_switches_only_row_check CHECK (only_row)
);
COMMENT ON COLUMN public.trading_switches.terms_version IS 'The version a wallet must have accepted to trade; null: none.';
CREATE TABLE public.wallet_terms (
    wallet text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    accepted_at_ms bigint NOT NULL
);
ALTER TABLE ONLY public.knex_migrations ALTER COLUMN id SET DEFAULT nextval('public.knex_migrations_id_seq'::regclass);
ALTER TABLE ONLY public.knex_migrations_lock ALTER COLUMN index SET DEFAULT nextval('public.knex_migrations_lock_index_seq'::regclass);
INSERT INTO public.assets VALUES
	('SPARE', 3),
	('BTC', 8),
	('ETH', 8),
	('SOL', 9),
	('USDC', 6);
INSERT INTO public.candles VALUES
	('ETH/USDC', 1795314660000, 200050, 200100, 199001, 200100, 2541, 5081043500, 137438953473, 137438953477),
	('BTC/ETH', 1795314660000, 1500, 1500, 1500, 1500, 500, 750000000, 137438953478, 137438953478),
	('ETH/USDC', 1795314720000, 200050, 200100, 199001, 200100, 2541, 5081043500, 274877906945, 274877906948),
	('BTC/ETH', 1795314720000, 1500, 1500, 1500, 1500, 500, 750000000, 274877906949, 274877906949);
INSERT INTO public.engine_cursor VALUES
	(true, 2, 77, '88a3f3c25bb288e2608edd61c11d07d55f67ef5819ed74b9e6641de7726d71e8', 1795314743784, '2026-11-22 02:32:23.861338+00');
INSERT INTO public.holds VALUES
	('0xdadadadadadadadadadadadadadadadadadadada', 1795314743757);
INSERT INTO public.knex_migrations VALUES
	(1, '001_engine_state', 1, '2026-11-22 02:31:51.496+00'),
	(2, '002_orders_and_trades', 1, '2026-11-22 02:31:51.511+00'),
	(3, '003_ledger', 1, '2026-11-22 02:31:51.523+00'),
	(4, '004_market_data', 1, '2026-11-22 02:31:51.537+00'),
	(5, '005_reconciliations', 1, '2026-11-22 02:31:51.543+00');
INSERT INTO public.knex_migrations_lock VALUES
	(1, 0);
INSERT INTO public.ledger_entries VALUES
	(10, 0, 'credit-10', 'credit', 'custody', 'USDC', -100000500000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 USDC', 1795314711700),
	(10, 1, 'credit-10', 'credit', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 100000500000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 USDC', 1795314711700),
	(11, 0, 'credit-11', 'credit', 'custody', 'ETH', -50000000000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 ETH', 1795314711730),
	(11, 1, 'credit-11', 'credit', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', 50000000000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 ETH', 1795314711730),
	(12, 0, 'credit-12', 'credit', 'custody', 'BTC', -2000000001, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 BTC', 1795314711742),
	(12, 1, 'credit-12', 'credit', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC', 2000000001, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 BTC', 1795314711742),
	(13, 0, 'credit-13', 'credit', 'custody', 'SOL', -300000000000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 SOL', 1795314711749),
	(13, 1, 'credit-13', 'credit', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL', 300000000000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 SOL', 1795314711749),
	(14, 0, 'credit-14', 'credit', 'custody', 'USDC', -100000500000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 USDC', 1795314711756),
	(14, 1, 'credit-14', 'credit', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', 100000500000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 USDC', 1795314711756),
	(15, 0, 'credit-15', 'credit', 'custody', 'ETH', -50000000000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 ETH', 1795314711765),
	(15, 1, 'credit-15', 'credit', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 50000000000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 ETH', 1795314711765),
	(16, 0, 'credit-16', 'credit', 'custody', 'BTC', -2000000001, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 BTC', 1795314711769),
	(16, 1, 'credit-16', 'credit', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'BTC', 2000000001, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 BTC', 1795314711769),
	(17, 0, 'credit-17', 'credit', 'custody', 'SOL', -300000000000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 SOL', 1795314711777),
	(17, 1, 'credit-17', 'credit', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'SOL', 300000000000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 SOL', 1795314711777),
	(18, 0, 'credit-18', 'credit', 'custody', 'USDC', -100000500000, '0xcacacacacacacacacacacacacacacacacacacaca USDC', 1795314711786),
	(18, 1, 'credit-18', 'credit', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', 100000500000, '0xcacacacacacacacacacacacacacacacacacacaca USDC', 1795314711786),
	(19, 0, 'credit-19', 'credit', 'custody', 'ETH', -50000000000, '0xcacacacacacacacacacacacacacacacacacacaca ETH', 1795314711788),
	(19, 1, 'credit-19', 'credit', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', 50000000000, '0xcacacacacacacacacacacacacacacacacacacaca ETH', 1795314711788),
	(20, 0, 'credit-20', 'credit', 'custody', 'BTC', -2000000001, '0xcacacacacacacacacacacacacacacacacacacaca BTC', 1795314711797),
	(20, 1, 'credit-20', 'credit', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC', 2000000001, '0xcacacacacacacacacacacacacacacacacacacaca BTC', 1795314711797),
	(21, 0, 'credit-21', 'credit', 'custody', 'SOL', -300000000000, '0xcacacacacacacacacacacacacacacacacacacaca SOL', 1795314711801),
	(21, 1, 'credit-21', 'credit', '0xcacacacacacacacacacacacacacacacacacacaca', 'SOL', 300000000000, '0xcacacacacacacacacacacacacacacacacacacaca SOL', 1795314711801),
	(22, 0, 'credit-22', 'credit', 'custody', 'SOL', -1500000000000000001, 'much', 1795314711808),
	(22, 1, 'credit-22', 'credit', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL', 1500000000000000001, 'much', 1795314711808),
	(23, 0, 'credit-23', 'credit', 'custody', 'ETH', -100000000, 'in', 1795314711815),
	(23, 1, 'credit-23', 'credit', '0xdadadadadadadadadadadadadadadadadadadada', 'ETH', 100000000, 'in', 1795314711815),
	(24, 0, 'debit-24', 'debit', 'custody', 'ETH', 100000000, 'out', 1795314711820),
	(24, 1, 'debit-24', 'debit', '0xdadadadadadadadadadadadadadadadadadadada', 'ETH', -100000000, 'out', 1795314711820),
	(25, 0, 'debit-25', 'debit', 'custody', 'USDC', 99250000, 'withdrawn', 1795314711822),
	(25, 1, 'debit-25', 'debit', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -99250000, 'withdrawn', 1795314711822),
	(29, 0, 'trade-137438953473', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 150000000, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(29, 1, 'trade-137438953473', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -150000000, '000100000000030d72000100000000001a', 1795314711847),
	(29, 2, 'trade-137438953473', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -3000750000, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(29, 3, 'trade-137438953473', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 3000750000, '000100000000030d72000100000000001a', 1795314711847),
	(29, 4, 'trade-137438953473', 'fee', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -3000750, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(29, 5, 'trade-137438953473', 'fee', 'house', 'USDC', 3000750, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(29, 6, 'trade-137438953474', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 62500000, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(29, 7, 'trade-137438953474', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -62500000, '000100000000030da4000100000000001b', 1795314711847),
	(29, 8, 'trade-137438953474', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -1250625000, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(29, 9, 'trade-137438953474', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 1250625000, '000100000000030da4000100000000001b', 1795314711847),
	(29, 10, 'trade-137438953474', 'fee', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -1250625, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(29, 11, 'trade-137438953474', 'fee', 'house', 'USDC', 1250625, '00001ffffffffcf25b000100000000001d', 1795314711847),
	(32, 0, 'trade-137438953475', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', -25000000, '0001000000000000000001000000000020', 1795314711857),
	(32, 1, 'trade-137438953475', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 25000000, '00001ffffffffcf6a6000100000000001e', 1795314711857),
	(32, 2, 'trade-137438953475', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', 497502500, '0001000000000000000001000000000020', 1795314711857),
	(32, 3, 'trade-137438953475', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -497502500, '00001ffffffffcf6a6000100000000001e', 1795314711857),
	(32, 4, 'trade-137438953475', 'fee', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -497503, '0001000000000000000001000000000020', 1795314711857),
	(32, 5, 'trade-137438953475', 'fee', 'house', 'USDC', 497503, '0001000000000000000001000000000020', 1795314711857),
	(33, 0, 'trade-137438953476', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', 12500000, '0000000000000000000001000000000021', 1795314711864),
	(33, 1, 'trade-137438953476', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -12500000, '000100000000030da4000100000000001b', 1795314711864),
	(33, 2, 'trade-137438953476', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -250125000, '0000000000000000000001000000000021', 1795314711864),
	(33, 3, 'trade-137438953476', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 250125000, '000100000000030da4000100000000001b', 1795314711864),
	(33, 4, 'trade-137438953476', 'fee', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -250125, '0000000000000000000001000000000021', 1795314711864),
	(33, 5, 'trade-137438953476', 'fee', 'house', 'USDC', 250125, '0000000000000000000001000000000021', 1795314711864),
	(33, 6, 'trade-137438953477', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', 4100000, '0000000000000000000001000000000021', 1795314711864),
	(33, 7, 'trade-137438953477', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -4100000, '000100000000030da4000100000000001c', 1795314711864),
	(33, 8, 'trade-137438953477', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -82041000, '0000000000000000000001000000000021', 1795314711864),
	(33, 9, 'trade-137438953477', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 82041000, '000100000000030da4000100000000001c', 1795314711864),
	(33, 10, 'trade-137438953477', 'fee', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -82041, '0000000000000000000001000000000021', 1795314711864),
	(33, 11, 'trade-137438953477', 'fee', 'house', 'USDC', 82041, '0000000000000000000001000000000021', 1795314711864),
	(40, 0, 'trade-137438953478', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC', -50000000, '0005000000000005dc0001000000000028', 1795314711891),
	(40, 1, 'trade-137438953478', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC', 50000000, '00041ffffffffffa230001000000000027', 1795314711891),
	(40, 2, 'trade-137438953478', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', 750000000, '0005000000000005dc0001000000000028', 1795314711891),
	(40, 3, 'trade-137438953478', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -750000000, '00041ffffffffffa230001000000000027', 1795314711891),
	(40, 4, 'trade-137438953478', 'fee', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', -1875000, '0005000000000005dc0001000000000028', 1795314711891),
	(40, 5, 'trade-137438953478', 'fee', 'house', 'ETH', 1875000, '0005000000000005dc0001000000000028', 1795314711891),
	(49, 0, 'trade-274877906945', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 150000000, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(49, 1, 'trade-274877906945', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -150000000, '000100000000030d72000200000000002e', 1795314743647),
	(49, 2, 'trade-274877906945', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -3000750000, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(49, 3, 'trade-274877906945', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 3000750000, '000100000000030d72000200000000002e', 1795314743647),
	(49, 4, 'trade-274877906945', 'fee', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -3000750, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(49, 5, 'trade-274877906945', 'fee', 'house', 'USDC', 3000750, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(49, 6, 'trade-274877906946', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 62500000, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(49, 7, 'trade-274877906946', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -62500000, '000100000000030da4000100000000001c', 1795314743647),
	(49, 8, 'trade-274877906946', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -1250625000, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(49, 9, 'trade-274877906946', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 1250625000, '000100000000030da4000100000000001c', 1795314743647),
	(49, 10, 'trade-274877906946', 'fee', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -1250625, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(49, 11, 'trade-274877906946', 'fee', 'house', 'USDC', 1250625, '00001ffffffffcf25b0002000000000031', 1795314743647),
	(52, 0, 'trade-274877906947', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', -25000000, '0001000000000000000002000000000034', 1795314743668),
	(52, 1, 'trade-274877906947', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 25000000, '00001ffffffffcf6a6000100000000001e', 1795314743668),
	(52, 2, 'trade-274877906947', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', 497502500, '0001000000000000000002000000000034', 1795314743668),
	(52, 3, 'trade-274877906947', 'trade', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', -497502500, '00001ffffffffcf6a6000100000000001e', 1795314743668),
	(52, 4, 'trade-274877906947', 'fee', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -497503, '0001000000000000000002000000000034', 1795314743668),
	(52, 5, 'trade-274877906947', 'fee', 'house', 'USDC', 497503, '0001000000000000000002000000000034', 1795314743668),
	(53, 0, 'trade-274877906948', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', 16600000, '0000000000000000000002000000000035', 1795314743673),
	(53, 1, 'trade-274877906948', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -16600000, '000100000000030da4000100000000001c', 1795314743673),
	(53, 2, 'trade-274877906948', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -332166000, '0000000000000000000002000000000035', 1795314743673),
	(53, 3, 'trade-274877906948', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 332166000, '000100000000030da4000100000000001c', 1795314743673),
	(53, 4, 'trade-274877906948', 'fee', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', -332166, '0000000000000000000002000000000035', 1795314743673),
	(53, 5, 'trade-274877906948', 'fee', 'house', 'USDC', 332166, '0000000000000000000002000000000035', 1795314743673),
	(60, 0, 'trade-274877906949', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC', -50000000, '0005000000000005dc000200000000003c', 1795314743703),
	(60, 1, 'trade-274877906949', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC', 50000000, '00041ffffffffffa230001000000000027', 1795314743703),
	(60, 2, 'trade-274877906949', 'trade', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', 750000000, '0005000000000005dc000200000000003c', 1795314743703),
	(60, 3, 'trade-274877906949', 'trade', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', -750000000, '00041ffffffffffa230001000000000027', 1795314743703),
	(60, 4, 'trade-274877906949', 'fee', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', -1875000, '0005000000000005dc000200000000003c', 1795314743703),
	(60, 5, 'trade-274877906949', 'fee', 'house', 'ETH', 1875000, '0005000000000005dc000200000000003c', 1795314743703);
INSERT INTO public.markets VALUES
	('ETH/USDC', 0, 1, '{"base": {"scale": 8, "symbol": "ETH"}, "step": "0.001", "tick": "0.01", "quote": {"scale": 6, "symbol": "USDC"}, "feeBps": 10, "number": 0, "status": "active", "symbol": "ETH/USDC", "version": 1, "visible": true, "sizeStep": "0.001", "tickSize": "0.01", "networkId": "31337", "selfTrade": "expire_taker", "sellEnabled": true, "maxOrderSize": "1000", "minOrderSize": "0.01", "referencePrice": null, "tradingEnabled": true, "baseAtomsPerStep": "100000", "quoteAtomsPerLot": "10"}'),
	('BTC/USDC', 1, 1, '{"base": {"scale": 8, "symbol": "BTC"}, "step": "0.001", "tick": "0.01", "quote": {"scale": 6, "symbol": "USDC"}, "feeBps": 0, "number": 1, "status": "active", "symbol": "BTC/USDC", "version": 1, "visible": true, "sizeStep": "0.001", "tickSize": "0.01", "networkId": "31337", "selfTrade": "expire_maker", "sellEnabled": true, "maxOrderSize": null, "minOrderSize": "0.01", "referencePrice": null, "tradingEnabled": true, "baseAtomsPerStep": "100000", "quoteAtomsPerLot": "10"}'),
	('BTC/ETH', 2, 2, '{"base": {"scale": 8, "symbol": "BTC"}, "step": "0.001", "tick": "0.01", "quote": {"scale": 8, "symbol": "ETH"}, "feeBps": 25, "number": 2, "status": "halted", "symbol": "BTC/ETH", "version": 2, "visible": true, "sizeStep": "0.001", "tickSize": "0.01", "networkId": "31337", "selfTrade": "expire_taker", "sellEnabled": true, "maxOrderSize": null, "minOrderSize": "0.01", "referencePrice": "15.5", "tradingEnabled": true, "baseAtomsPerStep": "100000", "quoteAtomsPerLot": "1000"}'),
	('SOL/USDC', 3, 2, '{"base": {"scale": 9, "symbol": "SOL"}, "step": "0.001", "tick": "0.01", "quote": {"scale": 6, "symbol": "USDC"}, "feeBps": 7, "number": 3, "status": "pre_open", "symbol": "SOL/USDC", "version": 2, "visible": true, "sizeStep": "0.001", "tickSize": "0.01", "networkId": "31337", "selfTrade": "expire_taker", "sellEnabled": true, "maxOrderSize": null, "minOrderSize": "0.01", "referencePrice": null, "tradingEnabled": true, "baseAtomsPerStep": "1000000", "quoteAtomsPerLot": "10"}');
INSERT INTO public.movements VALUES
	(10, 'credited', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'USDC', 100000500000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 USDC', 1795314711700),
	(11, 'credited', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH', 50000000000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 ETH', 1795314711730),
	(12, 'credited', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC', 2000000001, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 BTC', 1795314711742),
	(13, 'credited', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL', 300000000000, '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 SOL', 1795314711749),
	(14, 'credited', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', 100000500000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 USDC', 1795314711756),
	(15, 'credited', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH', 50000000000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 ETH', 1795314711765),
	(16, 'credited', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'BTC', 2000000001, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 BTC', 1795314711769),
	(17, 'credited', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'SOL', 300000000000, '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0 SOL', 1795314711777),
	(18, 'credited', '0xcacacacacacacacacacacacacacacacacacacaca', 'USDC', 100000500000, '0xcacacacacacacacacacacacacacacacacacacaca USDC', 1795314711786),
	(19, 'credited', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH', 50000000000, '0xcacacacacacacacacacacacacacacacacacacaca ETH', 1795314711788),
	(20, 'credited', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC', 2000000001, '0xcacacacacacacacacacacacacacacacacacacaca BTC', 1795314711797),
	(21, 'credited', '0xcacacacacacacacacacacacacacacacacacacaca', 'SOL', 300000000000, '0xcacacacacacacacacacacacacacacacacacacaca SOL', 1795314711801),
	(22, 'credited', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL', 1500000000000000001, 'much', 1795314711808),
	(23, 'credited', '0xdadadadadadadadadadadadadadadadadadadada', 'ETH', 100000000, 'in', 1795314711815),
	(24, 'debited', '0xdadadadadadadadadadadadadadadadadadadada', 'ETH', 100000000, 'out', 1795314711820),
	(25, 'debited', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'USDC', 99250000, 'withdrawn', 1795314711822);
INSERT INTO public.orders VALUES
	('000100000000030d72000100000000001a', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH/USDC', 'sell', 'limit', 'GTC', false, NULL, 200050, 1500, 1500, 'filled', NULL, '№ 1 ask 2000.5 1.5', 1795314711835, 1795314711847, 26, 29, 29, 'ETH', 'USDC', 100000, 10),
	('000100000000030da4000100000000001b', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH/USDC', 'sell', 'limit', 'GTC', false, NULL, 200100, 750, 750, 'filled', NULL, '№ 1 ask 2001 0.75', 1795314711841, 1795314711864, 27, 33, 33, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf25b000100000000001d', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'GTC', false, NULL, 200100, 2125, 2125, 'filled', NULL, '№ 1 crosses', 1795314711847, 1795314711847, 29, 29, 29, 'ETH', 'USDC', 100000, 10),
	('0001000000000000000001000000000020', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH/USDC', 'sell', 'market', 'GTC', false, NULL, NULL, 250, 250, 'filled', NULL, NULL, 1795314711857, 1795314711857, 32, 32, 32, 'ETH', 'USDC', 100000, 10),
	('0000000000000000000001000000000021', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH/USDC', 'buy', 'market', 'GTC', false, NULL, NULL, 166, 166, 'filled', NULL, NULL, 1795314711864, 1795314711864, 33, 33, 33, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf0cb0001000000000022', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'GTC', true, NULL, 200500, 100, 0, 'rejected', 'POST_ONLY_WOULD_CROSS', '№ 1 post-only', 1795314711870, 1795314711870, 34, 34, 34, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf4b30001000000000023', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'IOC', false, NULL, 199500, 100, 0, 'expired', NULL, '№ 1 ioc', 1795314711872, 1795314711872, 35, 35, 35, 'ETH', 'USDC', 100000, 10),
	('0003000000002dc6c00001000000000024', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'BTC/USDC', 'sell', 'limit', 'GTC', false, NULL, 3000000, 500, 0, 'cancelled', NULL, '№ 1 own', 1795314711876, 1795314711880, 36, 37, 37, 'BTC', 'USDC', 100000, 10),
	('0003000000002dc6c10001000000000026', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC/USDC', 'sell', 'limit', 'GTC', false, NULL, 3000001, 125, 0, 'resting', NULL, NULL, 1795314711884, 1795314711884, 38, 38, NULL, 'BTC', 'USDC', 100000, 10),
	('0005000000000005dc0001000000000028', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC/ETH', 'sell', 'limit', 'GTC', false, NULL, 1500, 500, 500, 'filled', NULL, NULL, 1795314711891, 1795314711891, 40, 40, 40, 'BTC', 'ETH', 100000, 1000),
	('0007000000000007d0000100000000002a', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL/USDC', 'sell', 'limit', 'GTC', false, NULL, 2000, 5000, 0, 'cancelled', NULL, '№ 1 cancelled', 1795314711900, 1795314711904, 42, 43, 43, 'SOL', 'USDC', 1000000, 10),
	('000700000000000834000100000000002c', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL/USDC', 'sell', 'limit', 'GTC', false, NULL, 2100, 5000, 0, 'failed', NULL, '№ 1 void', 1795314711905, 1795314711913, 44, 45, 45, 'SOL', 'USDC', 1000000, 10),
	('000100000000030d72000200000000002e', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH/USDC', 'sell', 'limit', 'GTC', false, NULL, 200050, 1500, 1500, 'filled', NULL, '№ 2 ask 2000.5 1.5', 1795314743635, 1795314743647, 46, 49, 49, 'ETH', 'USDC', 100000, 10),
	('000100000000030da4000200000000002f', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH/USDC', 'sell', 'limit', 'GTC', false, NULL, 200100, 750, 0, 'resting', NULL, '№ 2 ask 2001 0.75', 1795314743641, 1795314743641, 47, 47, NULL, 'ETH', 'USDC', 100000, 10),
	('000100000000030da40002000000000030', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH/USDC', 'sell', 'limit', 'GTC', false, NULL, 200100, 2000, 0, 'resting', NULL, '№ 2 ask 2001 2', 1795314743644, 1795314743644, 48, 48, NULL, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf25b0002000000000031', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'GTC', false, NULL, 200100, 2125, 2125, 'filled', NULL, '№ 2 crosses', 1795314743647, 1795314743647, 49, 49, 49, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf6a60002000000000032', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'GTC', false, NULL, 199001, 3000, 0, 'resting', NULL, '№ 2 bid', 1795314743649, 1795314743649, 50, 50, NULL, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf6a60002000000000033', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH/USDC', 'buy', 'limit', 'GTC', false, NULL, 199001, 500, 0, 'cancelled', NULL, NULL, 1795314743651, 1795314743739, 51, 70, 70, 'ETH', 'USDC', 100000, 10),
	('0001000000000000000002000000000034', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH/USDC', 'sell', 'market', 'GTC', false, NULL, NULL, 250, 250, 'filled', NULL, NULL, 1795314743668, 1795314743668, 52, 52, 52, 'ETH', 'USDC', 100000, 10),
	('000100000000030da4000100000000001c', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'ETH/USDC', 'sell', 'limit', 'GTC', false, NULL, 200100, 2000, 832, 'partially_filled', NULL, '№ 1 ask 2001 2', 1795314711844, 1795314743673, 28, 53, NULL, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf6a6000100000000001e', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'GTC', false, NULL, 199001, 3000, 500, 'partially_filled', NULL, '№ 1 bid', 1795314711853, 1795314743668, 30, 52, NULL, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf6a6000100000000001f', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH/USDC', 'buy', 'limit', 'GTC', false, NULL, 199001, 500, 0, 'cancelled', NULL, NULL, 1795314711855, 1795314743739, 31, 70, 70, 'ETH', 'USDC', 100000, 10),
	('00021fffffffd2393f0001000000000025', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'BTC/USDC', 'buy', 'limit', 'GTC', false, NULL, 3000000, 250, 0, 'cancelled', NULL, '№ 1 expires own', 1795314711880, 1795314743687, 37, 56, 56, 'BTC', 'USDC', 100000, 10),
	('00041ffffffffffa230001000000000027', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC/ETH', 'buy', 'limit', 'GTC', false, NULL, 1500, 1500, 1000, 'partially_filled', NULL, '№ 1 halted bid', 1795314711888, 1795314743703, 39, 60, NULL, 'BTC', 'ETH', 100000, 1000),
	('0005000000000006400001000000000029', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC/ETH', 'sell', 'limit', 'GTC', false, NULL, 1600, 500, 0, 'cancelled', NULL, NULL, 1795314711893, 1795314743748, 41, 71, 71, 'BTC', 'ETH', 100000, 1000),
	('0000000000000000000002000000000035', '0xcacacacacacacacacacacacacacacacacacacaca', 'ETH/USDC', 'buy', 'market', 'GTC', false, NULL, NULL, 166, 166, 'filled', NULL, NULL, 1795314743673, 1795314743673, 53, 53, 53, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf0cb0002000000000036', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'GTC', true, NULL, 200500, 100, 0, 'rejected', 'POST_ONLY_WOULD_CROSS', '№ 2 post-only', 1795314743678, 1795314743678, 54, 54, 54, 'ETH', 'USDC', 100000, 10),
	('00001ffffffffcf4b30002000000000037', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'ETH/USDC', 'buy', 'limit', 'IOC', false, NULL, 199500, 100, 0, 'expired', NULL, '№ 2 ioc', 1795314743680, 1795314743680, 55, 55, 55, 'ETH', 'USDC', 100000, 10),
	('0003000000002dc6c00002000000000038', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'BTC/USDC', 'sell', 'limit', 'GTC', false, NULL, 3000000, 500, 0, 'cancelled', NULL, '№ 2 own', 1795314743687, 1795314743688, 56, 57, 57, 'BTC', 'USDC', 100000, 10),
	('00021fffffffd2393f0002000000000039', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'BTC/USDC', 'buy', 'limit', 'GTC', false, NULL, 3000000, 250, 0, 'resting', NULL, '№ 2 expires own', 1795314743688, 1795314743688, 57, 57, NULL, 'BTC', 'USDC', 100000, 10),
	('0003000000002dc6c1000200000000003a', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC/USDC', 'sell', 'limit', 'GTC', false, NULL, 3000001, 125, 0, 'resting', NULL, NULL, 1795314743690, 1795314743690, 58, 58, NULL, 'BTC', 'USDC', 100000, 10),
	('00041ffffffffffa23000200000000003b', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'BTC/ETH', 'buy', 'limit', 'GTC', false, NULL, 1500, 1500, 0, 'resting', NULL, '№ 2 halted bid', 1795314743694, 1795314743694, 59, 59, NULL, 'BTC', 'ETH', 100000, 1000),
	('0005000000000005dc000200000000003c', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC/ETH', 'sell', 'limit', 'GTC', false, NULL, 1500, 500, 500, 'filled', NULL, NULL, 1795314743703, 1795314743703, 60, 60, 60, 'BTC', 'ETH', 100000, 1000),
	('000500000000000640000200000000003d', '0xcacacacacacacacacacacacacacacacacacacaca', 'BTC/ETH', 'sell', 'limit', 'GTC', false, NULL, 1600, 500, 0, 'cancelled', NULL, NULL, 1795314743708, 1795314743748, 61, 71, 71, 'BTC', 'ETH', 100000, 1000),
	('0007000000000007d0000200000000003e', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL/USDC', 'sell', 'limit', 'GTC', false, NULL, 2000, 5000, 0, 'cancelled', NULL, '№ 2 cancelled', 1795314743712, 1795314743723, 62, 63, 63, 'SOL', 'USDC', 1000000, 10),
	('0007000000000008340002000000000040', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'SOL/USDC', 'sell', 'limit', 'GTC', false, NULL, 2100, 5000, 0, 'failed', NULL, '№ 2 void', 1795314743724, 1795314743726, 64, 65, 65, 'SOL', 'USDC', 1000000, 10),
	('00061ffffffffff830000200000000004c', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'SOL/USDC', 'buy', 'limit', 'GTC', false, NULL, 1999, 4000, 0, 'resting', NULL, 'pre-open', 1795314743771, 1795314743771, 76, 76, NULL, 'SOL', 'USDC', 1000000, 10);
INSERT INTO public.reconciliations OVERRIDING SYSTEM VALUE VALUES
	(1, '2026-11-22 02:32:23.991433+00', 77, 35, 0, '{}');
INSERT INTO public.trades VALUES
	(137438953473, 29, 'ETH/USDC', 'buy', 200050, 1500, 150000000, 3000750000, 3000750, '00001ffffffffcf25b000100000000001d', '000100000000030d72000100000000001a', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314711847, 'ETH', 'USDC', 100000, 10),
	(137438953474, 29, 'ETH/USDC', 'buy', 200100, 625, 62500000, 1250625000, 1250625, '00001ffffffffcf25b000100000000001d', '000100000000030da4000100000000001b', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314711847, 'ETH', 'USDC', 100000, 10),
	(137438953475, 32, 'ETH/USDC', 'sell', 199001, 250, 25000000, 497502500, 497503, '0001000000000000000001000000000020', '00001ffffffffcf6a6000100000000001e', '0xcacacacacacacacacacacacacacacacacacacaca', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 1795314711857, 'ETH', 'USDC', 100000, 10),
	(137438953476, 33, 'ETH/USDC', 'buy', 200100, 125, 12500000, 250125000, 250125, '0000000000000000000001000000000021', '000100000000030da4000100000000001b', '0xcacacacacacacacacacacacacacacacacacacaca', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314711864, 'ETH', 'USDC', 100000, 10),
	(137438953477, 33, 'ETH/USDC', 'buy', 200100, 41, 4100000, 82041000, 82041, '0000000000000000000001000000000021', '000100000000030da4000100000000001c', '0xcacacacacacacacacacacacacacacacacacacaca', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314711864, 'ETH', 'USDC', 100000, 10),
	(137438953478, 40, 'BTC/ETH', 'sell', 1500, 500, 50000000, 750000000, 1875000, '0005000000000005dc0001000000000028', '00041ffffffffffa230001000000000027', '0xcacacacacacacacacacacacacacacacacacacaca', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314711891, 'BTC', 'ETH', 100000, 1000),
	(274877906945, 49, 'ETH/USDC', 'buy', 200050, 1500, 150000000, 3000750000, 3000750, '00001ffffffffcf25b0002000000000031', '000100000000030d72000200000000002e', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314743647, 'ETH', 'USDC', 100000, 10),
	(274877906946, 49, 'ETH/USDC', 'buy', 200100, 625, 62500000, 1250625000, 1250625, '00001ffffffffcf25b0002000000000031', '000100000000030da4000100000000001c', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314743647, 'ETH', 'USDC', 100000, 10),
	(274877906947, 52, 'ETH/USDC', 'sell', 199001, 250, 25000000, 497502500, 497503, '0001000000000000000002000000000034', '00001ffffffffcf6a6000100000000001e', '0xcacacacacacacacacacacacacacacacacacacaca', '0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 1795314743668, 'ETH', 'USDC', 100000, 10),
	(274877906948, 53, 'ETH/USDC', 'buy', 200100, 166, 16600000, 332166000, 332166, '0000000000000000000002000000000035', '000100000000030da4000100000000001c', '0xcacacacacacacacacacacacacacacacacacacaca', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314743673, 'ETH', 'USDC', 100000, 10),
	(274877906949, 60, 'BTC/ETH', 'sell', 1500, 500, 50000000, 750000000, 1875000, '0005000000000005dc000200000000003c', '00041ffffffffffa230001000000000027', '0xcacacacacacacacacacacacacacacacacacacaca', '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 1795314743703, 'BTC', 'ETH', 100000, 1000);
INSERT INTO public.trading_switches VALUES
	(true, true, '2026-01');
INSERT INTO public.wallet_terms VALUES
	('0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', '2026-01', 1795314743735),
	('0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', '2026-01', 1795314743735);
SELECT pg_catalog.setval('public.knex_migrations_id_seq', 5, true);
SELECT pg_catalog.setval('public.knex_migrations_lock_index_seq', 1, true);
SELECT pg_catalog.setval('public.reconciliations_id_seq', 1, true);
ALTER TABLE ONLY public.assets
    ADD CONSTRAINT assets_pkey PRIMARY KEY (symbol);
ALTER TABLE ONLY public.candles
    ADD CONSTRAINT candles_pkey PRIMARY KEY (market, open_ms);
ALTER TABLE ONLY public.engine_cursor
    ADD CONSTRAINT engine_cursor_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_pkey PRIMARY KEY (wallet);
ALTER TABLE ONLY public.knex_migrations_lock
    ADD CONSTRAINT knex_migrations_lock_pkey PRIMARY KEY (index);
ALTER TABLE ONLY public.knex_migrations
    ADD CONSTRAINT knex_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ledger_entries
    ADD CONSTRAINT ledger_entries_pkey PRIMARY KEY (sequence, line);
ALTER TABLE ONLY public.markets
    ADD CONSTRAINT markets_number_key UNIQUE (number);
ALTER TABLE ONLY public.markets
    ADD CONSTRAINT markets_pkey PRIMARY KEY (symbol);
ALTER TABLE ONLY public.movements
    ADD CONSTRAINT movements_kind_reference_key UNIQUE (kind, reference);
ALTER TABLE ONLY public.movements
    ADD CONSTRAINT movements_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reconciliations
    ADD CONSTRAINT reconciliations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.trades
    ADD CONSTRAINT trades_pkey PRIMARY KEY (trade_id);
ALTER TABLE ONLY public.trading_switches
    ADD CONSTRAINT trading_switches_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.wallet_terms
    ADD CONSTRAINT wallet_terms_pkey PRIMARY KEY (wallet);
CREATE INDEX ledger_entries_time ON public.ledger_entries USING btree (time_ms);
CREATE UNIQUE INDEX orders_client_order_id ON public.orders USING btree (wallet, client_order_id) WHERE (client_order_id IS NOT NULL);
CREATE INDEX orders_closed ON public.orders USING btree (closed_sequence);
CREATE INDEX orders_newest ON public.orders USING btree (wallet, sequence);
CREATE INDEX trades_maker ON public.trades USING btree (maker_wallet, market, trade_id);
CREATE INDEX trades_maker_order ON public.trades USING btree (maker_order_id);
CREATE INDEX trades_public ON public.trades USING btree (market, taker_side, time_ms, trade_id);
CREATE INDEX trades_taker ON public.trades USING btree (taker_wallet, market, trade_id);
CREATE INDEX trades_taker_order ON public.trades USING btree (taker_order_id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.movements FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trades FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();
