/** Postgres as its administrators may treat it: settings, passwords, locks and connections. */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventually } from '../../../support/eventually.ts';
import { openFlood } from '../bulk.ts';
import { type Cluster, engineSequence, settledIn } from '../cluster.ts';
import type { Fault, Injected, Scene } from './fault.ts';
import { pauseSettlement } from './settlement-points.ts';

async function asAdmin(
  { postgres }: Pick<Cluster, 'postgres'>,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Ends the service's connections, so that the next ones are new. */
const endConnections = (client: pg.Client): Promise<unknown> =>
  client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'redbook %'`,
  );

const set = (cluster: Cluster, ...changes: string[]): Promise<void> =>
  asAdmin(cluster, async (client) => {
    await client.query('set default_transaction_read_only = off');
    for (const change of changes) await client.query(`alter system ${change}`);
    await client.query('select pg_reload_conf()');
  });

/** Orders of the backlog that settlement works on when Postgres is killed: several batches. */
const BACKLOG = 8_000;

/**
 * Commits of a backlog, which settlement does not wait for, are lost: the engine still has the events. Postgres itself
 * writes nothing out meanwhile, as on a disk that is very slow.
 */
const early: Fault = {
  name: 'Postgres commits before it flushes, and is killed',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  async inject({ cluster, dice, note, violation }) {
    const lazy = ["wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'", 'synchronous_commit = off'];
    await set(cluster, ...lazy.map((setting) => `set ${setting}`));
    const flood = await openFlood(cluster);
    const pause = await pauseSettlement(cluster);
    await flood.place(BACKLOG);
    await pause.end();
    const till = pause.settled + dice.below(BACKLOG);
    await eventually('a part is settled', async () => (await settledIn(cluster)) >= till);
    const before = await settledIn(cluster);
    await cluster.postgres.kill();
    return async () => {
      await cluster.postgres.start();
      note(`Postgres came back ${before - (await settledIn(cluster))} events older, at least`);
      await set(cluster, 'reset all');
      await flood.judge(violation);
      await flood.close();
    };
  },
};

const REFUSED_MS = 2_500;

const password: Fault = {
  name: 'the password of Postgres changes',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  async inject({ cluster }) {
    const right = new URL(cluster.postgres.url).password;
    await asAdmin(cluster, async (client) => {
      await client.query(`alter role postgres password 'another'`);
      await endConnections(client);
      await sleep(REFUSED_MS);
      await client.query(`alter role postgres password '${right}'`);
    });
  },
};

const HELD_UP_MS = 4_000;

const administered = (
  name: string,
  inject: (scene: Scene) => Injected,
  more: Partial<Fault> = {},
): Fault => ({ name, rounds: 6, shortRounds: 0, restEvery: 3, inject, ...more });

const LAST_COMMIT_MS = 500;

/** Waits while the fault lasts. A fault that does not hold up settlement proves nothing. */
async function expectHeldUp({ cluster, violation, note }: Scene): Promise<void> {
  await sleep(LAST_COMMIT_MS);
  const before = await settledIn(cluster);
  await sleep(HELD_UP_MS);
  const after = await settledIn(cluster);
  if (after !== before) violation('campaign', `settlement went on from event ${before} to ${after}`);
  note(`${(await engineSequence(cluster.redis))! - after} events waited`);
}

/** In every second round, the engine's Redis starts anew meanwhile: the next epoch waits for Postgres. */
const readOnly = administered('Postgres is read-only', async (scene) => {
  const { cluster, round } = scene;
  await set(cluster, 'set default_transaction_read_only = on');
  if (round % 2 === 0) {
    await cluster.engine.kill();
    await cluster.engine.start();
  }
  await expectHeldUp(scene);
  return () => set(cluster, 'reset all');
});

const BETWEEN_ENDS_MS = 40;

const ended = administered('Postgres ends connections again and again', async ({ cluster }) => {
  await asAdmin(cluster, async (client) => {
    for (const endMs = Date.now() + HELD_UP_MS; Date.now() < endMs; await sleep(BETWEEN_ENDS_MS))
      await endConnections(client);
  });
});

const BETWEEN_CANCELS_MS = 1;

/** Cancels every statement that the service runs at this moment. Returns the kind of work of each, such as `lists`. */
const CANCEL = `
  with running as materialized (
    select pid, substr(application_name, length('redbook ') + 1) as work from pg_stat_activity
    where application_name like 'redbook %' and state = 'active'
  )
  select work from running where pg_cancel_backend(pid)`;

const cancelled = administered('Postgres cancels statements at random', async (scene) => {
  const { cluster, note, violation } = scene;
  const counts = new Map<string, number>();
  await asAdmin(cluster, async (client) => {
    for (const endMs = Date.now() + HELD_UP_MS; Date.now() < endMs; await sleep(BETWEEN_CANCELS_MS)) {
      const { rows } = await client.query<{ work: string }>(CANCEL);
      for (const { work } of rows) counts.set(work, (counts.get(work) ?? 0) + 1);
    }
  });
  note([...counts].map(([work, times]) => `${times} of ${work}`).join(', '));
  if (counts.size === 0) violation('campaign', 'no statement was cancelled');
});

const QUEUES_OF_OTHERS = 20;
/** Most time until the first connection is refused. */
const FILL_MS = 60_000;
const RETRY_MS = 50;

/** Others take every connection that comes free, while those of the service are ended. */
const crowded = administered('Postgres has no connection left', async ({ cluster, note, violation }) => {
  const crowd: pg.Client[] = [];
  let [refused, endMs] = [0, Date.now() + FILL_MS];
  const join = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: cluster.postgres.url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      crowd.push(client);
    } catch {
      if (refused === 0) endMs = Date.now() + HELD_UP_MS;
      refused += 1;
      await sleep(RETRY_MS);
    }
  };
  const joinAll = async (): Promise<void> => {
    while (Date.now() < endMs) await join();
  };
  await asAdmin(cluster, async (admin) => {
    const joining = Promise.all(Array.from({ length: QUEUES_OF_OTHERS }, joinAll));
    for (; Date.now() < endMs; await sleep(RETRY_MS)) if (refused > 0) await endConnections(admin);
    await joining;
  });
  note(`${crowd.length} connections of others`);
  if (refused === 0) violation('campaign', 'Postgres refused no connection');
  return async () => {
    await Promise.all(crowd.map((client) => client.end()));
  };
});

const LOCKED = [
  'engine_cursor',
  'orders',
  'trades',
  'candles',
  'engine_cursor, orders, trades, ledger_entries, candles',
];

const locked = administered(
  'tables of Postgres are locked',
  async ({ cluster, round, note }) => {
    const tables = LOCKED[(round - 1) % LOCKED.length]!;
    note(tables);
    await asAdmin(cluster, async (client) => {
      await client.query(`begin; lock table ${tables} in access exclusive mode`);
      await sleep(HELD_UP_MS);
    });
  },
  { rounds: 5, restEvery: 1 },
);

/** Each of them fails statements of settlement. */
const STRICT = [
  "default_transaction_isolation = 'serializable'",
  'lock_timeout = 1',
  'idle_session_timeout = 50',
];

const strict = administered('settings of Postgres change while it runs', async ({ cluster, round, note }) => {
  const setting = STRICT[(round - 1) % STRICT.length]!;
  note(setting);
  await set(cluster, `set ${setting}`);
  await sleep(HELD_UP_MS);
  return () => set(cluster, 'reset all');
});

export const POSTGRES: readonly Fault[] = [
  early,
  password,
  readOnly,
  ended,
  cancelled,
  crowded,
  locked,
  strict,
];
