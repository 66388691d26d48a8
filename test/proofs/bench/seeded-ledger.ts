/**
 * Seeds a ledger of any number of trades with the rows that settlement would have written for them. Postgres generates
 * the rows itself, a few hundred thousand at a time, so no row crosses a connection and memory stays bounded.
 *
 * A round has four orders: one that rests, and three that fill it. Most rounds fill it completely. In one round of a
 * hundred it stays on the book; in one of ten it is cancelled. Five wallets own a quarter of the resting orders, and a
 * hundred wallets own another quarter. Rounds follow each other at a fixed pace, so every day has the same number of
 * trades.
 */

import pg from 'pg';
import type { EngineEvent, EventBody } from '../../../src/domain/event.ts';
import type { Market } from '../../../src/domain/market.ts';
import { composeMarket } from '../../../src/domain/market-rules.ts';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';
import { outlivesSegment } from '../../../src/ledger/segments.ts';
import { marketSpec } from './market-spec.ts';
import type { ReadSubject } from './read-plans.ts';

/** Default number of wallets. */
const SEEDED_WALLETS = 10_000;
const BUSIEST_WALLETS = 5;
const BUSY_WALLETS = 100;
const TRADES_A_ROUND = 3;
/** The id before the first trade's. */
const FIRST_TRADE_ID = 2 ** 48;
/** Event sequences of a round: four orders, and the end of the first of them. */
const EVENTS_A_ROUND = 5;
/** 3.9 trades a second: ten million in a month. */
const ROUND_MS = 777;
const ROUNDS_TOGETHER = 100_000;
const QUOTE = { symbol: 'USDC', scale: 6 };
const BASES = ['ETH', 'BTC', 'SOL', 'XRP'].map((symbol) => ({ symbol, scale: 9 }));

const MARKETS: readonly Market[] = BASES.map((base, number) => ({
  ...composeMarket(marketSpec(`${base.symbol}/USDC`), number, base, QUOTE),
  version: 1,
}));

export const seededWallet = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

/** Returns one of the busiest wallets and the middle of its history. */
export async function seededSubject(ledger: Ledger): Promise<ReadSubject> {
  const wallet = seededWallet(3);
  const { cursor, trades } = await ledger.trades.ofWallet(wallet, { limit: 1 });
  const half = Math.floor((Number(trades[0]!.fill.tradeId) - FIRST_TRADE_ID) / 2);
  return {
    wallet,
    market: 'ETH/USDC',
    halfTradeId: FIRST_TRADE_ID + half,
    halfSequence: cursor.sequence - Math.floor((half / TRADES_A_ROUND) * EVENTS_A_ROUND),
  };
}

/** Returns the events of a seeded ledger with the default wallets. */
export const seededEventsOf = (trades: number): number =>
  openingEvents(0, SEEDED_WALLETS).length + Math.ceil(trades / TRADES_A_ROUND) * EVENTS_A_ROUND;

export interface SeedOptions {
  /** URL of a database that is empty or has only the schema. */
  readonly databaseUrl: string;
  readonly trades: number;
  readonly wallets?: number;
  /** Unix milliseconds of the last trade. */
  readonly endMs: number;
  readonly say?: (line: string) => void;
}

/**
 * Seeds a database.
 * @throws Error if the database already has orders
 */
export async function seedLedger({ databaseUrl, trades, endMs, ...more }: SeedOptions): Promise<void> {
  const { wallets = SEEDED_WALLETS, say } = more;
  const rounds = Math.ceil(trades / TRADES_A_ROUND);
  const startMs = endMs - rounds * ROUND_MS;
  const ledger = openLedger({ databaseUrl });
  await ledger.migrate();
  if ((await ledger.settlement.cursor()).sequence > 0)
    throw new Error('the ledger has events: seed an empty one');
  const opening = openingEvents(startMs, wallets);
  for (let at = 0; at < opening.length; at += 1_000)
    await ledger.settlement.settle(opening.slice(at, at + 1_000));
  await ledger.close();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const run = async (what: string, sql: string): Promise<void> => {
      const begun = performance.now();
      await client.query(sql);
      say?.(`${what}: ${Math.round(performance.now() - begun)} ms`);
    };
    await client.query(`set session_replication_role = replica; set synchronous_commit = off;
      set maintenance_work_mem = '1GB'; set work_mem = '256MB'; set jit = off`);
    // Creating the indexes at the end costs a fifth of updating them row by row.
    const indexes = await takeIndexes(client);
    const place = { first: opening.length, startMs, wallets };
    const last = opening.length + rounds * EVENTS_A_ROUND;
    await run('segments', `select add_segments(${last})`);
    for (let from = 0; from < rounds; from += ROUNDS_TOGETHER) {
      const to = Math.min(from + ROUNDS_TOGETHER, rounds);
      await run(`rounds ${from} to ${to}`, roundsSql(from, to, place));
    }
    for (const index of indexes) await run(index.replace(/ ON .*/, ''), index);
    await run('candles', CANDLES);
    await run('cursor', cursorSql(last, endMs));
    await run('vacuum', 'vacuum analyze');
  } finally {
    await client.end();
  }
}

/** Assets, markets, and a credit of each asset for each wallet that exceeds its spending. */
function openingEvents(timeMs: number, wallets: number): EngineEvent[] {
  const assets = [QUOTE, ...BASES];
  const bodies: EventBody[] = [
    ...assets.map((asset): EventBody => ({ kind: 'asset_changed', asset })),
    ...MARKETS.map((market): EventBody => ({ kind: 'market_changed', market })),
  ];
  for (let index = 0; index < wallets; index += 1) {
    const wallet = seededWallet(index);
    for (const { symbol: asset } of assets) {
      const reference = `seed ${index} ${asset}`;
      bodies.push({ kind: 'credited', wallet, asset, amountAtoms: 10n ** 14n, reference });
    }
  }
  return bodies.map((body, at) => ({
    epoch: 1,
    sequence: at + 1,
    timeMs,
    digest: { hex: `seed ${at}` },
    ...body,
  }));
}

/**
 * Drops the indexes that no constraint needs.
 * @returns the statements that create them again
 */
async function takeIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as definition
     from pg_index where indrelid in ('ended_orders'::regclass, 'trades'::regclass)`,
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

interface Place {
  /** Number of events before the rounds. */
  readonly first: number;
  readonly startMs: number;
  readonly wallets: number;
}

/** Selects the values of each round, derived from a hash of the round's number. */
const drawn = (from: number, to: number, { first, startMs, wallets }: Place): string => `
  select n, market, number, base, side, price_ticks, steps, maker,
    ${first}::bigint + n * ${EVENTS_A_ROUND} as before, ${startMs}::bigint + n * ${ROUND_MS} as time_ms,
    case when n % 100 = 99 then 'partially_filled' when n % 10 = 3 then 'partially_filled_cancelled' else 'filled' end
      as status, base_atoms_per_step, quote_atoms_per_lot
  from (
    select n, hash, abs(hash >> 8) % ${MARKETS.length} as market_number,
      case when n % 2 = 0 then 'sell' else 'buy' end as side, 200000 + abs(hash >> 16) % 2001 as price_ticks,
      1 + abs(hash >> 24) % 5000 as steps,
      abs(hash >> 32) % (case hash & 3 when 0 then ${BUSIEST_WALLETS} when 1 then ${Math.min(BUSY_WALLETS, wallets)}
        else ${wallets} end) as maker
    from (select n, hashint8extended(n, 1) as hash from generate_series(${from}::bigint, ${to - 1}::bigint) as n) as hashed
  ) as chosen
  join (values ${MARKETS.map(
    ({ number, symbol, base, baseAtomsPerStep, quoteAtomsPerLot }) =>
      `(${number}, '${symbol}', '${base.symbol}', ${baseAtomsPerStep}::bigint, ${quoteAtomsPerLot}::bigint)`,
  ).join(', ')}) as listed (number, market, base, base_atoms_per_step, quote_atoms_per_lot)
    on number = market_number`;

const WALLET = (index: string): string => `'0x' || lpad(to_hex(${index}), 40, '0')`;

/** An order id in the engine's format: market and side, price key, epoch, sequence. */
const ORDER_ID = (side: string, sequence: string): string => `
  lpad(to_hex(number * 2 + case ${side} when 'sell' then 1 else 0 end), 4, '0')
    || lpad(to_hex(case ${side} when 'buy' then 9007199254740991 - price_ticks else price_ticks end), 14, '0')
    || '0001' || lpad(to_hex(${sequence}), 12, '0')`;

const OPPOSITE = `case side when 'buy' then 'sell' else 'buy' end`;
/** A taker other than the maker, derived separately for each of the three. */
const taker = (wallets: number): string =>
  `(maker + 1 + abs(hashint8extended(before, k)) % ${Math.min(BUSY_WALLETS, wallets) - 1}) % ${wallets}`;

const ORDER_COLUMNS = `id, wallet, market, side, type, time_in_force, post_only, price_ticks, size_steps, filled_steps,
  fill_count, status, client_order_id, created_at_ms, updated_at_ms, sequence, updated_sequence, closed_sequence, base,
  quote, base_atoms_per_step, quote_atoms_per_lot`;

const OUTLIVES = outlivesSegment('sequence', 'closed_sequence');

const roundsSql = (from: number, to: number, place: Place): string => `
  create temp table round as ${drawn(from, to, place)};
  create temp table placed (like live_orders);
  insert into placed (${ORDER_COLUMNS})
    select ${ORDER_ID('side', 'before + 1')}, ${WALLET('maker')}, market, side, 'limit', 'GTC', false, price_ticks,
      case status when 'filled' then 3 else 4 end * steps, 3 * steps, 3, status, 'maker-' || n, time_ms,
      time_ms + case status when 'partially_filled_cancelled' then 40 else 30 end, before + 1,
      before + case status when 'partially_filled_cancelled' then 5 else 4 end,
      case status when 'partially_filled' then null when 'filled' then before + 4 else before + 5 end, base, 'USDC',
      base_atoms_per_step, quote_atoms_per_lot
    from round
    union all
    select ${ORDER_ID(OPPOSITE, 'before + 1 + k')}, ${WALLET(taker(place.wallets))}, market, ${OPPOSITE}, 'limit', 'GTC', false,
      price_ticks, steps, steps, 1, 'filled', 'taker-' || n || '-' || k, time_ms + 10 * k, time_ms + 10 * k,
      before + 1 + k, before + 1 + k, before + 1 + k, base, 'USDC', base_atoms_per_step, quote_atoms_per_lot
    from round cross join generate_series(1, ${TRADES_A_ROUND}) as k;
  insert into live_orders select * from placed where closed_sequence is null;
  insert into ended_orders select * from placed where closed_sequence is not null and not (${OUTLIVES});
  insert into late_orders select * from placed where closed_sequence is not null and ${OUTLIVES};
  insert into trades (trade_id, sequence, market, taker_side, price_ticks, size_steps, base_atoms, notional_atoms,
    fee_atoms, taker_order_id, maker_order_id, taker_wallet, maker_wallet, time_ms, base, quote, base_atoms_per_step,
    quote_atoms_per_lot)
  select ${FIRST_TRADE_ID} + n * ${TRADES_A_ROUND} + k, before + 1 + k, market, ${OPPOSITE}, price_ticks, steps, steps * base_atoms_per_step,
    price_ticks * steps * quote_atoms_per_lot, (price_ticks * steps * quote_atoms_per_lot * 10 + 9999) / 10000,
    ${ORDER_ID(OPPOSITE, 'before + 1 + k')}, ${ORDER_ID('side', 'before + 1')}, ${WALLET(taker(place.wallets))}, ${WALLET('maker')},
    time_ms + 10 * k, base, 'USDC', base_atoms_per_step, quote_atoms_per_lot
  from round cross join generate_series(1, ${TRADES_A_ROUND}) as k;
  drop table round, placed`;

const CANDLES = `
  insert into candles (timeframe, market, open_ms, open_ticks, high_ticks, low_ticks, close_ticks, volume_steps,
    quote_atoms, first_trade_id, last_trade_id)
  select length.timeframe, market, time_ms - time_ms % length.ms, (min(array[trade_id, price_ticks]))[2],
    max(price_ticks), min(price_ticks), (max(array[trade_id, price_ticks]))[2], sum(size_steps), sum(notional_atoms),
    min(trade_id), max(trade_id)
  from trades cross join (values ('1m', 60000), ('1h', 3600000), ('1D', 86400000)) as length (timeframe, ms)
  group by 1, 2, 3`;

/** Moves the cursor to the end. The chain of events begins there, because no rows of the seed are in it. */
const cursorSql = (sequence: number, timeMs: number): string => `
  update engine_cursor set sequence = ${sequence}, event_time_ms = ${timeMs}, digest = 'seed', settled_at = now(),
    orders = (select count(*) from orders), trades = (select count(*) from trades),
    head = '';
  truncate chain_heads, chain_links;
  insert into chain_heads (sequence, head) values (${sequence}, '')`;
