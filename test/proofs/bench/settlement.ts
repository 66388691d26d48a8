/**
 * Measures the cost of settling an order for its process and for Postgres, while one api process is loaded and while a
 * backlog is settled. Compares the speed of settling a backlog with an older release on its own servers.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { KEYS } from '../../../src/engine/keys.ts';
import { type Exchange, openExchange, type Running, startHello } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { costlyLoad, nextHello } from './http.ts';
import { load } from './load.ts';
import { type OlderRelease, PRESENT } from './older-release.ts';
import { orderRequests } from './order-requests.ts';
import { measureProcessors, type Spent } from './processors.ts';

const ROUNDS = 5;
const SECONDS = 2;
const CONNECTIONS = 64;
const BACKLOG = 10_000;
const DRIVEN = { inFlight: 512 };
const LOOK_MS = 5;

/** A release whose settlement is measured. */
interface Release {
  readonly exchange: Exchange;
  readonly settlement: Running;
  readonly ledger: pg.Client;
}

async function openRelease(project: string): Promise<Release> {
  const exchange = await openExchange(project);
  try {
    const settlement = await exchange.start('settlement');
    const ledger = new pg.Client({ connectionString: exchange.databaseUrl });
    await ledger.connect();
    return { exchange, settlement, ledger };
  } catch (error) {
    await exchange.close();
    throw error;
  }
}

async function closeRelease({ exchange, ledger }: Release): Promise<void> {
  await ledger.end();
  await exchange.close();
}

/** Sequences of the engine's newest event and of the ledger's newest event. */
async function positions({ exchange, ledger }: Release): Promise<{ engine: number; ledger: number }> {
  const [newest] = await exchange.redis.xrevrange(KEYS.events, '+', '-', 'COUNT', 1);
  const { rows } = await ledger.query<{ sequence: string }>('select sequence from engine_cursor');
  return { engine: Number(newest![0].split('-')[1]), ledger: Number(rows[0]!.sequence) };
}

type Positions = Awaited<ReturnType<typeof positions>>;

async function until(release: Release, isThere: (positions: Positions) => boolean): Promise<number> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += LOOK_MS) {
    const found = await positions(release);
    if (isThere(found)) return found.ledger;
    await sleep(LOOK_MS);
  }
  throw new Error('settlement does not keep up');
}

/** Waits until all events are committed. */
const untilSettled = (release: Release): Promise<number> =>
  until(release, ({ engine, ledger }) => engine === ledger);

interface Costs {
  readonly settlement: number;
  readonly postgres: number;
}

const costsOf = (spent: Readonly<Record<'settlement' | 'postgres', Spent>>, orders: number): Costs => ({
  settlement: (spent.settlement.seconds * 1e6) / orders,
  postgres: (spent.postgres.seconds * 1e6) / orders,
});

/** Microseconds of an order under load on one api process, until the last order is settled; and of a hello world. */
async function besideLoad(release: Release): Promise<{ orders: Costs; hello: number }> {
  const { exchange, settlement } = release;
  const api = await exchange.start('api');
  const hello = await startHello();
  const nextRequest = orderRequests();
  const options = { connections: CONNECTIONS, seconds: SECONDS };
  try {
    const rounds: { orders: Costs; hello: number }[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const { result, spent } = await measureProcessors(
        { settlement, postgres: exchange.postgres },
        async () => {
          const loaded = await load(api.url, { ...options, nextRequest });
          await untilSettled(release);
          return loaded;
        },
      );
      const { micros } = await costlyLoad({ hello }, () =>
        load(hello.url, { ...options, nextRequest: nextHello }),
      );
      rounds.push({ orders: costsOf(spent, result.requests), hello: micros.hello });
    }
    const of = (amount: (round: (typeof rounds)[number]) => number): number =>
      median(rounds.slice(1).map(amount)); // the first round warms up
    return {
      orders: {
        settlement: of(({ orders }) => orders.settlement),
        postgres: of(({ orders }) => orders.postgres),
      },
      hello: of((round) => round.hello),
    };
  } finally {
    await hello.stop();
    await api.stop();
  }
}

interface Drained extends Costs {
  /** Events per second of wall-clock time, from the first commit to the last. */
  readonly perSecond: number;
}

/** Pauses the settlement process, accumulates a backlog of orders, and resumes the process. */
async function drain(release: Release): Promise<Drained> {
  const { exchange, settlement } = release;
  const before = await untilSettled(release);
  process.kill(settlement.pid, 'SIGSTOP');
  try {
    await exchange.driver.place('mixed', BACKLOG, DRIVEN);
  } finally {
    process.kill(settlement.pid, 'SIGCONT');
  }
  const { result, spent } = await measureProcessors({ settlement, postgres: exchange.postgres }, async () => {
    // The process polls for work, so the clock starts at its first commit.
    const first = await until(release, ({ ledger }) => ledger > before);
    const beganMs = performance.now();
    const last = await untilSettled(release);
    return ((last - first) * 1_000) / (performance.now() - beganMs);
  });
  return { ...costsOf(spent, BACKLOG), perSecond: result };
}

/** Medians of rounds in which the releases take turns. */
async function drainInTurn(releases: readonly Release[]): Promise<Drained[]> {
  const drained = releases.map((): Drained[] => []);
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [index, release] of releases.entries()) drained[index]!.push(await drain(release));
  return drained.map((rounds) => {
    const of = (amount: (one: Drained) => number): number => median(rounds.slice(1).map(amount));
    return {
      settlement: of(({ settlement }) => settlement),
      postgres: of(({ postgres }) => postgres),
      perSecond: of(({ perSecond }) => perSecond),
    };
  });
}

function rowsOfDraining(present: Drained, older: Drained | undefined, release: OlderRelease): Measured[] {
  const row = (name: string, unit: string, of: (one: Drained) => number): Measured => ({
    name: `a backlog, ${name}`,
    unit,
    figure: of(present),
    reference: { name: release.revision, figure: older === undefined ? null : of(older) },
    ...(release.because === undefined ? {} : { note: release.because }),
  });
  return [
    {
      ...row('events per second of the process', '/s', ({ settlement }) => 1e6 / settlement),
      target: { relation: '>=', bound: 0.97 },
    },
    {
      ...row('events from stream to commit, by the clock', '/s', ({ perSecond }) => perSecond),
      target: { relation: '>=', bound: 0.97, isReported: true },
    },
    row('settlement, an event', 'µs', ({ settlement }) => settlement),
    row('Postgres, an event', 'µs', ({ postgres }) => postgres),
  ];
}

export async function benchSettlement(older: OlderRelease): Promise<Table> {
  const releases: Release[] = [];
  try {
    releases.push(await openRelease(PRESENT));
    if (older.folder !== undefined) releases.push(await openRelease(older.folder));
    // Before the load, which only one of the releases gets, so that both have the same history.
    const [present, before] = await drainInTurn(releases);
    const { orders, hello } = await besideLoad(releases[0]!);
    const reference = { name: 'hello world, api', figure: hello };
    const target = { relation: '<=', bound: 0.5 } as const;
    const title = `processor time for each order; medians of ${ROUNDS} alternating rounds`;
    return tableOf('settlement', title, [
      { name: 'settlement, an order', unit: 'µs', figure: orders.settlement, reference, target },
      { name: 'Postgres, an order', unit: 'µs', figure: orders.postgres, reference, target },
      ...rowsOfDraining(present!, before, older),
    ]);
  } finally {
    for (const release of releases) await closeRelease(release);
  }
}
