/**
 * Settlement is killed at named points of a batch. A proxy stops its connection to Postgres or to the engine at that
 * byte, and the process is killed while it stands there.
 */

import pg from 'pg';
import { loadScript } from '../../../../src/redis/lua.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Trap } from '../../../support/link.ts';
import { type Cluster, PATIENCE_MS, settledIn } from '../cluster.ts';
import type { Fault } from './fault.ts';

export interface Pause {
  /** Sequence of the last settled event. */
  readonly settled: number;
  end(): Promise<void>;
}

/**
 * Locks the cursor once the batch under way is committed. Settlement leaves its work to whoever has the lock, so it
 * holds no batch of events that the engine is about to lose.
 */
export async function pauseSettlement({ postgres }: Cluster): Promise<Pause> {
  const client = new pg.Client({ connectionString: postgres.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  const { rows } = await client.query('select sequence from engine_cursor for update');
  return { settled: Number(rows[0].sequence), end: () => client.end() };
}

/** Sequence of the last event that is in Postgres, and of the last that settlement told the engine of. */
interface Positions {
  readonly settled: number;
  readonly told: number;
}

interface Point {
  readonly name: string;
  readonly server: 'postgres' | 'engine';
  readonly trap: Trap;
  /** True if a batch has been committed while settlement stood at the point. */
  readonly isCommitted: boolean;
  /** True if the engine knows that, too. */
  readonly isTrimmed: boolean;
}

/**
 * Beginning of the message that binds the statement `commit`, in the piece that moves the cursor. The look behind comes
 * last: at each byte of a large piece, it would hold the proxy up for seconds.
 */
const BIND_COMMIT = String.raw`B.{4}\0commit\0(?<=move cursor\0.*)`;
const TRIM = loadScript('trim_settled').sha;

const POINTS: readonly Point[] = [
  {
    name: 'before the rows of a batch are sent',
    server: 'postgres',
    trap: { request: String.raw`^(?=.*move cursor\0)`, isSent: false },
    isCommitted: false,
    isTrimmed: false,
  },
  {
    name: 'before COMMIT, when all rows are written',
    server: 'postgres',
    trap: { request: BIND_COMMIT, isSent: false },
    isCommitted: false,
    isTrimmed: false,
  },
  {
    name: 'after COMMIT, before its reply',
    server: 'postgres',
    trap: { request: BIND_COMMIT, isSent: true, reply: String.raw`COMMIT\0` },
    isCommitted: true,
    isTrimmed: false,
  },
  {
    name: 'before the trim',
    server: 'engine',
    trap: { request: `^(?=.*${TRIM})`, isSent: false },
    isCommitted: true,
    isTrimmed: false,
  },
  {
    name: 'after the trim, before its reply',
    server: 'engine',
    trap: { request: TRIM, isSent: true },
    isCommitted: true,
    isTrimmed: true,
  },
];

async function positionsIn({ sql, redis }: Cluster): Promise<Positions> {
  return { settled: await settledIn({ sql }), told: Number(await redis.hget('{redbook}:engine', 'settled')) };
}

/** The engine is told after each commit, so what it was told shows where settlement stood. */
function isAt({ isCommitted, isTrimmed }: Point, { settled, told }: Positions): boolean {
  return isCommitted && !isTrimmed ? told < settled : told === settled;
}

export const killAtPoint: Fault = {
  name: 'kill settlement at named points of a batch',
  rounds: 60,
  restEvery: 5,
  shares: 'proxied',
  plan: async (base) => ({ plan: { ...base, isProxied: true } }),
  async inject({ cluster, round, note, violation }) {
    const point = POINTS[(round - 1) % POINTS.length]!;
    const slot = cluster.of('settlement')[0]!;
    const proxy = cluster.proxies.get(slot)!;
    let stands = false;
    void proxy.trap(point.server, point.trap).then(() => {
      stands = true;
    });
    await eventually(`settlement stands ${point.name}`, () => stands, PATIENCE_MS);
    await cluster.processes.end(slot, 'SIGKILL');
    const positions = await positionsIn(cluster);
    if (!isAt(point, positions))
      violation('campaign', `${point.name} was missed: ${JSON.stringify(positions)}`);
    if (round <= POINTS.length) note(point.name);
    return async () => {
      await proxy.do('mend');
      await cluster.processes.start(slot);
    };
  },
};
