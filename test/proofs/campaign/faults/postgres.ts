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

/** Ends the service's connections, so that the next ones are new. Returns their number. */
async function endConnections(client: pg.Client): Promise<number> {
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'redbook %'`,
  );
  return rowCount ?? 0;
}

const set = (cluster: Cluster, ...changes: string[]): Promise<void> =>
  asAdmin(cluster, async (client) => {
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

const succeeds = (attempt: Promise<unknown>): Promise<boolean> =>
  attempt.then(
    () => true,
    () => false,
  );

const password: Fault = {
  name: 'the password of Postgres changes',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  async inject({ cluster, violation }) {
    const right = new URL(cluster.postgres.url).password;
    await asAdmin(cluster, async (client) => {
      await client.query(`alter role postgres password 'another'`);
      await endConnections(client);
      await sleep(REFUSED_MS);
      if (await succeeds(cluster.sql('select 1'))) violation('campaign', 'Postgres took the old password');
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

const READ_ONLY = '25006';

const REFUSE_WRITE = `
  create function public.refuse_write() returns trigger language plpgsql as $$
  begin
    raise exception 'cannot execute % in a read-only transaction', tg_op using errcode = '${READ_ONLY}';
  end $$`;

const TABLES = `
  select format('%I.%I', nspname, relname) as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where nspname = 'public' and relkind in ('r', 'p') and not relispartition`;

/**
 * Refuses each write to a table by a trigger, because the service's sessions bring a \`default_transaction_read_only\` of
 * their own. Each table is locked in a transaction of its own, so that none waits for two.
 * @returns a function that allows writes again
 */
async function refuseWrites(cluster: Cluster): Promise<() => Promise<void>> {
  const onEach = (statement: (table: string) => string) =>
    asAdmin(cluster, async (client) => {
      const { rows } = await client.query<{ name: string }>(TABLES);
      for (const { name } of rows) await client.query(statement(name));
    });
  await cluster.sql(REFUSE_WRITE);
  await onEach(
    (table) => `
      create trigger refuse_write before insert or update or delete or truncate on ${table}
      execute function public.refuse_write()`,
  );
  return async () => {
    await onEach((table) => `drop trigger refuse_write on ${table}`);
    await cluster.sql('drop function public.refuse_write()');
  };
}

/** In every second round, the engine's Redis starts anew meanwhile: the next epoch waits for Postgres. */
const readOnly = administered('Postgres is read-only', async (scene) => {
  const { cluster, round, violation } = scene;
  const allowWrites = await refuseWrites(cluster);
  if (round % 2 === 0) {
    await cluster.engine.kill();
    await cluster.engine.start();
  }
  await expectHeldUp(scene);
  const written = await cluster
    .sql('update public.engine_cursor set epoch = epoch')
    .catch(({ code }) => code);
  if (written !== READ_ONLY) violation('campaign', `Postgres took a write: ${JSON.stringify(written)}`);
  return allowWrites;
});

const BETWEEN_ENDS_MS = 40;

const ended = administered('Postgres ends connections again and again', async (scene) => {
  const { cluster, note, violation } = scene;
  let count = 0;
  await asAdmin(cluster, async (client) => {
    for (const endMs = Date.now() + HELD_UP_MS; Date.now() < endMs; await sleep(BETWEEN_ENDS_MS))
      count += await endConnections(client);
  });
  note(`${count} connections were ended`);
  if (count === 0) violation('campaign', 'no connection was ended');
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
/** Maximum time until the first connection is refused. */
const FILL_MS = 60_000;
const RETRY_MS = 50;

/** Others take every connection that comes free, while those of the service are ended. */
const crowded = administered('Postgres has no connection left', async ({ cluster, note, violation }) => {
  const crowd: pg.Client[] = [];
  let refused = 0;
  let endMs = Date.now() + FILL_MS;
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
  'engine_cursor, orders, trades, movements, candles',
];

/** Sessions of the service that wait for a lock. */
const WAITING = `
  select 1 from pg_stat_activity where application_name like 'redbook %' and wait_event_type = 'Lock'`;

const locked = administered(
  'tables of Postgres are locked',
  async ({ cluster, round, note, violation }) => {
    const tables = LOCKED[(round - 1) % LOCKED.length]!;
    note(tables);
    await asAdmin(cluster, async (client) => {
      await client.query(`begin; lock table ${tables} in access exclusive mode`);
      await sleep(HELD_UP_MS);
      const { rowCount } = await client.query(WAITING);
      if (rowCount === 0) violation('campaign', 'nothing waited for a lock');
    });
  },
  { rounds: 5, restEvery: 1 },
);

/** Each of them would fail statements of settlement, whose sessions therefore bring values of their own. */
const STRICT = [
  ['default_transaction_isolation', 'serializable'],
  ['lock_timeout', '1ms'],
  ['idle_session_timeout', '1s'],
  ['default_transaction_read_only', 'on'],
] as const;

const strict = administered('settings of Postgres change while it runs', async (scene) => {
  const { cluster, round, note, violation } = scene;
  const [name, value] = STRICT[(round - 1) % STRICT.length]!;
  note(name);
  await set(cluster, `set ${name} = '${value}'`);
  await eventually(`${name} is ${value} in new sessions`, async () => {
    const [shown] = await cluster.sql(`show ${name}`);
    return shown?.[name] === value;
  });
  await asAdmin(cluster, endConnections);
  const before = await settledIn(cluster);
  await sleep(HELD_UP_MS);
  if ((await settledIn(cluster)) === before) violation('settings', `settlement stopped at event ${before}`);
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
