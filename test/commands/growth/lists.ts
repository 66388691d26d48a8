/** Lists and candles at one size of the history: their plans in Postgres, and their times at an `api` process. */

import type { Ledger } from '../../../src/ledger/index.ts';
import { query } from '../../ledger/tables.ts';
import { median } from '../bench/figures.ts';
import { type ReadPlan, type ReadSubject, readPlans } from '../bench/read-plans.ts';
import { BUSY_WALLET, marketOf } from './rounds.ts';
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
    ...{ wallet: BUSY_WALLET, market: marketOf(0) },
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
const [WARMING, COUNTED] = [10, 15];

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
