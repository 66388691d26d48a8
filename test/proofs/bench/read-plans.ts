/** Query plans of the statements that a request or a stream can cause, from `EXPLAIN (ANALYZE, BUFFERS)`. */

import pg from 'pg';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Scan Direction'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** Whose lists are read, and where a page half way back begins. */
export interface ReadSubject {
  readonly wallet: string;
  readonly market: string;
  readonly halfSequence: number;
  readonly halfTradeId: number;
}

export interface ReadPlan {
  readonly name: string;
  /** Number of orders, trades or candles that the read returns. */
  readonly found: number;
  /** Number of statements of one read. */
  readonly statements: number;
  /** Number of table rows scanned. */
  readonly rows: number;
  /** Number of 8 KiB pages read, from the cache of Postgres or from disk. */
  readonly buffers: number;
  readonly ms: number;
  /** For each index or table: its name, the rows scanned and the number of scans. */
  readonly scans: readonly string[];
}

/** Records the select statements that a read sends to Postgres, and counts what the read returns. */
async function statementsOf(
  read: () => Promise<unknown>,
): Promise<{ statements: Statement[]; found: number }> {
  const noted: Statement[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [config, values] = args as [string | Statement, readonly unknown[] | undefined];
    const statement = typeof config === 'string' ? { text: config, values } : config;
    noted.push({ text: statement.text, values: statement.values ?? values ?? [] });
    return (query as (...all: unknown[]) => unknown).apply(this, args);
  } as typeof query;
  let found: number;
  try {
    found = countOf(await read());
  } finally {
    pg.Client.prototype.query = query;
  }
  return { statements: noted.filter(({ text }) => text.trimStart().startsWith('select')), found };
}

/** Counts what a read returned: the items of its list, or one. */
function countOf(returned: unknown): number {
  if (Array.isArray(returned)) return returned.length;
  if (returned === null || typeof returned !== 'object') return returned == null ? 0 : 1;
  const list = Object.values(returned).find(Array.isArray);
  return list === undefined ? 1 : list.length;
}

const literalOf = (value: unknown): string => {
  if (value == null) return 'null';
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map((one) => `"${one}"`).join(',')}}`);
  return pg.escapeLiteral(String(value));
};

/** Prepares the statement as a connection of the service does, runs it with these values and returns its plan. */
async function explained(
  client: pg.Client,
  { text, values }: Statement,
): Promise<{ plan: PlanNode; ms: number }> {
  await client.query(`prepare explained as ${text}`);
  const call = values.length === 0 ? 'explained' : `explained(${values.map(literalOf).join(', ')})`;
  // Without per-node times: measuring them takes longer than the nodes.
  const explain = `explain (analyze, buffers, timing off, format json) execute ${call}`;
  // The first run fills the cache and makes the plan; the second is measured.
  await client.query(explain);
  const { rows } = await client.query(explain);
  await client.query('deallocate explained');
  const [{ Plan: plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN'];
  return { plan, ms };
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

const rowsOf = (node: PlanNode): number =>
  Math.round((node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']);

const isScan = (node: PlanNode): boolean => node['Relation Name'] !== undefined && node['Actual Loops'] > 0;

async function planOf(client: pg.Client, name: string, read: () => Promise<unknown>): Promise<ReadPlan> {
  await read(); // opens the connections
  const { statements, found } = await statementsOf(read);
  const plans: { plan: PlanNode; ms: number }[] = [];
  for (const statement of statements) plans.push(await explained(client, statement));
  const scans = plans.flatMap(({ plan }) => nodesOf(plan)).filter(isScan);
  const sum = (count: (one: { plan: PlanNode; ms: number }) => number): number =>
    plans.reduce((total, one) => total + count(one), 0);
  const byIndex = new Map<string, [rows: number, loops: number]>();
  for (const node of scans) {
    const where = node['Index Name'] ?? node['Relation Name']!;
    const [rows, loops] = byIndex.get(where) ?? [0, 0];
    byIndex.set(where, [rows + rowsOf(node), loops + node['Actual Loops']]);
  }
  return {
    name,
    found,
    statements: statements.length,
    rows: scans.reduce((total, node) => total + rowsOf(node), 0),
    buffers: sum(({ plan }) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks']),
    ms: sum(({ ms }) => ms),
    scans: [...byIndex].map(([where, [rows, loops]]) => `${where} ${rows} in ${loops}`),
  };
}

const FILLS = { maxFillsPerOrder: 1_000, maxFillsPerReply: 5_000, orders: 100 };

/** Every kind of read, for a wallet. */
async function readsOf(
  ledger: Ledger,
  { wallet, market, halfSequence, halfTradeId }: ReadSubject,
): Promise<Record<string, () => Promise<unknown>>> {
  const { orders } = await ledger.orders.ofWallet(wallet, { limit: 101 });
  const { trades: latest } = await ledger.trades.ofMarket(market, { limit: 1 });
  const { timeMs: endMs, tradeId: newestId } = latest[0]!;
  const placed = orders.find(({ clientOrderId }) => clientOrderId !== null)!;
  const touchedIds = orders.slice(0, 20).map(({ id }) => id);
  return {
    'orders, a page with its fills': () => ledger.orders.ofWallet(wallet, { limit: 101, fills: FILLS }),
    'orders, a page half way back': () =>
      ledger.orders.ofWallet(wallet, {
        limit: 101,
        fills: FILLS,
        beforeSequence: halfSequence,
      }),
    'orders, live ones': () => ledger.orders.ofWallet(wallet, { limit: 101, status: 'live', fills: FILLS }),
    'orders, closed ones': () =>
      ledger.orders.ofWallet(wallet, { limit: 101, status: 'closed', fills: FILLS }),
    'orders, those of a market': () => ledger.orders.ofWallet(wallet, { limit: 101, market, fills: FILLS }),
    'orders, with 20 unsettled': async () => {
      const read = await ledger.orders.ofWallet(wallet, { limit: 101, status: 'live', touchedIds });
      await ledger.orders.fills(
        new Map(read.orders.map(({ id, fillCount }) => [id, fillCount])),
        read.cursor,
      );
      return read;
    },
    'one order by its id': () => ledger.orders.byId(wallet, placed.id, 1_000),
    'one order by its client order id': () => ledger.orders.idByClientId(wallet, placed.clientOrderId!),
    'a client order id that is new': () => ledger.orders.placedId(wallet, 'never used'),
    'trades of a wallet, all markets': () => ledger.trades.ofWallet(wallet, { limit: 501 }),
    'trades of a wallet, half way back': () =>
      ledger.trades.ofWallet(wallet, { limit: 501, beforeTradeId: halfTradeId }),
    'trades of a wallet in a market': () => ledger.trades.ofWallet(wallet, { limit: 501, market }),
    'trades of an order': () => ledger.trades.ofWallet(wallet, { limit: 501, orderId: placed.id }),
    'trades of a market': () => ledger.trades.ofMarket(market, { limit: 500 }),
    'trades of a market, sells of an old hour': () =>
      ledger.trades.ofMarket(market, { limit: 500, side: 'sell', toMs: endMs - 3_600_000 }),
    'candles, a new minute': () => ledger.candles.minutes(market, endMs - (endMs % 60_000)),
    'candles, a day at first': () => ledger.candles.minutes(market, endMs - 86_400_000),
    'candles, 500 of 15m': () => ledger.candles.history(market, '15m', { limit: 500 }),
    'figures of a day, what a second adds': () =>
      ledger.trades.secondsAfter({ tradeId: newestId - 4, place: null }, Number.MAX_SAFE_INTEGER, 20_000),
    'figures of a day, where they begin': () => ledger.trades.lastBefore(endMs - 86_400_000),
    'the cursor': () => ledger.settlement.cursor(),
  };
}

/** @returns a plan for each kind of read of a ledger, whose wallet has an order with a client order id and a trade */
export async function readPlans(
  databaseUrl: string,
  subjectOf: (ledger: Ledger) => Promise<ReadSubject>,
): Promise<ReadPlan[]> {
  const ledger = openLedger({ databaseUrl });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    // The settings of read connections in `src/ledger/pools.ts`.
    await client.query(`set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off;
      set plan_cache_mode = force_generic_plan; set jit = off`);
    const plans: ReadPlan[] = [];
    for (const [name, read] of Object.entries(await readsOf(ledger, await subjectOf(ledger))))
      plans.push(await planOf(client, name, read));
    return plans;
  } finally {
    await ledger.close();
    await client.end();
  }
}
