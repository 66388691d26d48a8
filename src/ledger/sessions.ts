/** Refuses a pooler that takes a session away between two transactions, because its settings and plans go with it. */

import pg from 'pg';
import { DatabaseRefused } from './database-refused.ts';

const CONNECT_WITHIN_MS = 5_000;

const pidOf = async (client: pg.Client): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;

/**
 * Connects twice. Two connections at once have two sessions, and the first one keeps its own while the second is in a
 * transaction.
 * @throws DatabaseRefused
 */
export async function checkSessions(databaseUrl: string): Promise<void> {
  const [one, other] = [1, 2].map(
    () =>
      new pg.Client({
        connectionString: databaseUrl,
        application_name: 'redbook sessions',
        connectionTimeoutMillis: CONNECT_WITHIN_MS,
        query_timeout: CONNECT_WITHIN_MS,
      }),
  ) as [pg.Client, pg.Client];
  for (const client of [one, other]) client.on('error', () => undefined); // the query that waits gets it
  try {
    await one.connect();
    await other.connect();
    const pid = await pidOf(one);
    await other.query('begin');
    const isShared = (await pidOf(other)) === pid || (await pidOf(one)) !== pid;
    await other.query('rollback');
    if (!isShared) return;
    throw new DatabaseRefused(
      'it is behind a pooler that shares its sessions between transactions: set the pooler to session pooling, or connect without it',
    );
  } finally {
    // A connection that hangs must not keep the caller waiting.
    for (const client of [one, other]) void client.end().catch(() => undefined);
  }
}
