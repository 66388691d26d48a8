/**
 * Compares lists of ledgers that differ in the number of their segments alone. The ledgers are asked in turn, by one
 * reader over one connection, so a figure is the time that one list takes.
 */

import pg from 'pg';
import { KIND } from '../../../src/domain/order-life.ts';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { seededEventsOf, seededSubject, seededWallet, seedLedger } from './seeded-ledger.ts';

const TRADES = Number(process.env.SEGMENTS_TRADES ?? 1_000_000);
const SEGMENTS = [1, 10, 100];
const MAX_OF_ONE_SEGMENT = 1.2;
const ROUNDS = 15;
/** Reads of a list in a round. */
const READS = 20;
/** Changes, in events before the last one. */
const BACK = 2_000;
const NOBODY = seededWallet(2 ** 40);

interface List {
  readonly name: string;
  read(ledger: Ledger): Promise<unknown>;
  /** True for a list without rows, which is looked for in every segment. */
  readonly isEmpty?: boolean;
}

interface Divided {
  readonly segments: number;
  readonly ledger: Ledger;
}

const FILLS = { maxFillsPerOrder: 1_000, maxFillsPerReply: 5_000, orders: 100 };

async function listsOf(ledger: Ledger): Promise<List[]> {
  const { wallet, market } = await seededSubject(ledger);
  const { sequence } = await ledger.settlement.cursor();
  const after = { sequence: sequence - BACK, kind: KIND.after, key: 0 };
  const changes = { after, limit: 101, maxFills: 100, orderIds: [] };
  return [
    { name: 'trades of a market', read: ({ trades }) => trades.ofMarket(market, { limit: 500 }) },
    {
      name: 'orders with their fills',
      read: ({ orders }) => orders.ofWallet(wallet, { limit: 101, fills: FILLS }),
    },
    { name: 'own fills', read: ({ trades }) => trades.ofWallet(wallet, { limit: 101 }) },
    { name: 'changes', read: (one) => one.changes.ofWallet(wallet, changes) },
    {
      name: 'trades of a dead market',
      read: ({ trades }) => trades.ofMarket('NONE/USDC', { limit: 500 }),
      isEmpty: true,
    },
    {
      name: 'orders of a wallet without any',
      read: ({ orders }) => orders.ofWallet(NOBODY, { limit: 101, fills: FILLS }),
      isEmpty: true,
    },
    {
      name: 'own fills of a wallet without any',
      read: ({ trades }) => trades.ofWallet(NOBODY, { limit: 101 }),
      isEmpty: true,
    },
    {
      name: 'an unused client order id',
      read: ({ orders }) => orders.placedId(NOBODY, 'none'),
      isEmpty: true,
    },
  ];
}

async function openDivided(url: string, segments: number): Promise<Divided> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const name = `segments_${segments}`;
  await client.query(`create database ${name}`);
  // The last segment is full, so a page lies in as few segments as it can.
  const events = Math.ceil((seededEventsOf(TRADES) + 1) / segments);
  await client.query(`alter database ${name} set redbook.segment_events = ${events}`);
  await client.end();
  const databaseUrl = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await seedLedger({ databaseUrl, trades: TRADES, endMs: Date.UTC(2026, 0, 1) });
  return { segments, ledger: openLedger({ databaseUrl, poolSize: 1 }) };
}

/** Milliseconds of a list in each ledger. */
async function timesOf({ read }: List, divided: readonly Divided[]): Promise<number[]> {
  const times = divided.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [at, { ledger }] of divided.entries()) {
      const begun = performance.now();
      for (let count = 0; count < READS; count += 1) await read(ledger);
      times[at]!.push((performance.now() - begun) / READS);
    }
  return times.map((own) => median(own.slice(1)));
}

const rowsOf = ({ name, isEmpty = false }: List, [one, ...others]: readonly number[]): Measured[] =>
  others.map((figure, at) => ({
    name: `${name}, ${SEGMENTS[at + 1]} segments`,
    unit: 'ms',
    figure,
    reference: { name: 'one segment', figure: one! },
    target: { relation: '<=', bound: MAX_OF_ONE_SEGMENT, isReported: isEmpty },
  }));

export async function benchSegments(): Promise<Table> {
  const postgres = await startPostgresServer({ durable: false });
  const divided: Divided[] = [];
  try {
    for (const segments of SEGMENTS) divided.push(await openDivided(postgres.url, segments));
    const rows: Measured[] = [];
    for (const list of await listsOf(divided[0]!.ledger))
      rows.push(...rowsOf(list, await timesOf(list, divided)));
    const title = `a list of a ledger with ${TRADES.toLocaleString('en-US')} trades; medians of ${ROUNDS} alternating rounds`;
    return tableOf('segments', title, rows);
  } finally {
    for (const { ledger } of divided) await ledger.close();
    await postgres.stop();
  }
}
