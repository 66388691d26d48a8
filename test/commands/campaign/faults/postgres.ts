/** Postgres as its administrators may treat it: settings and passwords. */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, settledIn } from '../cluster.ts';
import { type Fault, NOTHING } from './fault.ts';

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
    for (const change of changes) await client.query(`alter system ${change}`);
    await client.query('select pg_reload_conf()');
  });

/** A commit that was answered is lost, as on a disk that lies: the engine still has the events. */
const early: Fault = {
  name: 'Postgres commits before it flushes, and is killed',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  mayBreak: NOTHING,
  async inject({ cluster, dice, note }) {
    await set(cluster, 'set synchronous_commit = off', "set wal_writer_delay = '10s'");
    await sleep(1_500 + dice.below(1_000));
    const before = await settledIn(cluster);
    await cluster.postgres.kill();
    return async () => {
      await cluster.postgres.start();
      note(`Postgres came back ${before - (await settledIn(cluster))} events older, at least`);
      await set(cluster, 'reset all');
    };
  },
};

const REFUSED_MS = 2_500;

const password: Fault = {
  name: 'the password of Postgres changes',
  rounds: 5,
  shortRounds: 0,
  restEvery: 3,
  mayBreak: NOTHING,
  async inject({ cluster }) {
    const right = new URL(cluster.postgres.url).password;
    await asAdmin(cluster, async (client) => {
      await client.query(`alter role postgres password 'another'`);
      await endConnections(client);
      await sleep(REFUSED_MS);
      await client.query(`alter role postgres password '${right}'`);
    });
    return async () => undefined;
  },
};

export const POSTGRES: readonly Fault[] = [early, password];
