/**
 * The most that the engine's Redis may hold when everything is settled and its margins have passed: live orders, balances, fixed
 * records and the claim filter. The model follows from the orders that were placed, never from a look at the engine.
 * Also measures the reads of lists, which may not grow either.
 */

import { type FilterLayout, filterKeys } from '../../../src/engine/filter-layout.ts';
import { balancesKey, bookKey, KEYS, levelsKey } from '../../../src/engine/keys.ts';
import type { Ledger } from '../../../src/ledger/index.ts';
import { query } from '../../ledger/tables.ts';
import { median } from '../bench/figures.ts';
import { type ReadPlan, type ReadSubject, readPlans } from '../bench/read-plans.ts';
import { BUSY_WALLET, liveAfter, marketOf, type Shape } from './rounds.ts';
import { bearerOf, type Servers } from './servers.ts';

interface ApiRead {
  readonly name: string;
  /** Number of orders, trades or candles in the reply. */
  readonly items: number;
  readonly ms: number;
}

export interface Reads {
  readonly plans: readonly ReadPlan[];
  readonly api: readonly ApiRead[];
}

/** The busiest wallet, and the middle of the history. */
async function subjectOf(ledger: Ledger, databaseUrl: string): Promise<ReadSubject> {
  const { sequence } = await ledger.settlement.cursor();
  const [middle] = await query<{ trade_id: string }>(
    databaseUrl,
    `select trade_id from trades order by trade_id offset (select count(*) / 2 from trades) limit 1`,
  );
  return {
    wallet: BUSY_WALLET,
    market: marketOf(0),
    halfSequence: Math.floor(sequence / 2),
    halfTradeId: Number(middle!.trade_id),
  };
}

const PATHS = [
  '/v1/orders',
  '/v1/orders?status=closed',
  '/v1/orders?status=live',
  '/v1/trades?limit=500',
  `/v1/trades?limit=500&market=${encodeURIComponent(marketOf(0))}`,
  `/v1/market-data/candles/${marketOf(0).replace('/', '_')}?tf=15m`,
  `/v1/market-data/trades/${marketOf(0).replace('/', '_')}`,
];
/** The first answers are not counted: they open connections and compile. */
const WARMING = 10;
const COUNTED = 15;

/** Counts the items of the longest list in a reply. */
function itemsOf(reply: unknown): number {
  const lists = Array.isArray(reply) ? [reply] : Object.values(reply as object).filter(Array.isArray);
  return Math.max(0, ...lists.map(({ length }) => length));
}

async function timesAt(url: string): Promise<ApiRead[]> {
  const headers = { authorization: bearerOf(BUSY_WALLET) };
  const reads: ApiRead[] = [];
  for (const name of PATHS) {
    const times: number[] = [];
    let items = 0;
    for (let call = 0; call < WARMING + COUNTED; call += 1) {
      const begunMs = performance.now();
      const reply = await fetch(`${url}${name}`, { headers });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`${name} was answered with ${reply.status}: ${text}`);
      times.push(performance.now() - begunMs);
      items = itemsOf(JSON.parse(text));
    }
    reads.push({ name: decodeURIComponent(name), items, ms: median(times.slice(WARMING)) });
  }
  return reads;
}

/** Measures while the exchange rests. */
export async function takeReads(servers: Servers): Promise<Reads> {
  const { databaseUrl } = servers;
  // Index-only scans visit the table for pages that no vacuum has seen, however small the history is.
  await query(databaseUrl, 'vacuum analyze');
  const plans = await readPlans(databaseUrl, (own) => subjectOf(own, databaseUrl));
  const api = await servers.start('api');
  try {
    return { plans, api: await timesAt(api.url) };
  } finally {
    await api.end('SIGTERM');
  }
}

/** Bounds of one key: its entries and its bytes. */
export interface Expected {
  readonly kind: string;
  /** Members, fields, entries or bytes of a string. */
  readonly entries: { readonly exactly: number } | { readonly atMost: number };
  /** Maximum bytes of the key in Redis' memory. */
  readonly maxBytes: number;
}

/**
 * Maximum bytes of one entry. A member of a sorted set has an entry of a table (24 bytes and up to 24 bytes of its
 * buckets while the table grows), a node (40 to 64) and its text (42 to 77). A field of a hash has no node, and its
 * value has a text of its own. Measured at 20,000 live orders: 139 and 155 bytes of a member, 56 to 92 of a field.
 */
const MAX_BYTES = { member: 200, field: 128 } as const;
/** A table, a list or a block of a stream that holds next to nothing. */
const FIXED_BYTES = 16 * 1024;
/**
 * Maximum bytes of a large string: Redis asks for up to one MiB more than it needs, and its allocator has four sizes
 * between a power of two and the next one.
 */
const maxBytesOfString = (length: number): number => (length + 1024 * 1024) * 1.25;
/** Fields of the engine hash that do not depend on markets. */
const ENGINE_FIELDS = 13;

const exactly = (kind: string, count: number, bytesEach: number = MAX_BYTES.member): Expected => ({
  kind,
  entries: { exactly: count },
  maxBytes: FIXED_BYTES + count * bytesEach,
});

const atMost = (kind: string, max: number): Expected => ({
  kind,
  entries: { atMost: max },
  maxBytes: FIXED_BYTES + max * MAX_BYTES.field,
});

/** @returns each key that the engine may have, with what it may hold. A key of zero entries must not exist. */
export function liveState(shape: Shape, rounds: number, filter: FilterLayout): Map<string, Expected> {
  const keys = new Map<string, Expected>();
  const markets = Array.from({ length: shape.markets }, (_, market) => market);
  let orders = 0;
  for (const market of markets) {
    const live = liveAfter(shape, market, rounds);
    orders += live.orders;
    for (const side of ['buy', 'sell'] as const) {
      const [count, levels] = side === live.side ? [live.orders, live.levels] : [0, 0];
      const name = side === 'buy' ? 'bids' : 'asks';
      keys.set(bookKey(marketOf(market), name), exactly('books', count));
      keys.set(levelsKey(marketOf(market), name), exactly('levels', levels, MAX_BYTES.field));
    }
    // Available and reserved of each wallet, the house account and the supply.
    keys.set(balancesKey(`M${market}`), atMost('balances', shape.wallets * 2 * 2 + 2));
  }
  keys.set(balancesKey('USDC'), atMost('balances', shape.wallets * 2 * 2 + 2));
  keys.set(KEYS.live, exactly('live orders', orders));
  keys.set(KEYS.engine, atMost('engine hash', ENGINE_FIELDS + 2 * shape.markets));
  keys.set(KEYS.markets, exactly('markets', shape.markets, 1_024));
  keys.set(KEYS.assets, atMost('assets', 2 * (shape.markets + 1)));
  // The event at the cursor stays, because a settlement that repeats a batch compares it.
  keys.set(KEYS.events, exactly('events', 1));
  for (const key of KEYS.unsettled) keys.set(key, exactly('unsettled index', 0));
  for (const key of KEYS.claims) keys.set(key, exactly('recent claims', 0));
  for (const key of [KEYS.cancelAfter, KEYS.cancelAfterLeases, KEYS.cancelAfterCutOffs, KEYS.rebuilding])
    keys.set(key, exactly('switches', 0));
  const parts = filterKeys(filter);
  for (const part of parts) {
    const bytes = filter.bytes / parts.length;
    keys.set(part, { kind: 'claim filter', entries: { atMost: bytes }, maxBytes: maxBytesOfString(bytes) });
  }
  return keys;
}
