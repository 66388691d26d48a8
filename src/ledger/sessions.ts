/** Refuses a pooler that takes a session away between two transactions, because its settings and plans go with it. */

import pg from 'pg';
import { DatabaseRefused } from './database-refused.ts';
import { sessionSettings } from './session-settings.ts';

const CONNECT_WITHIN_MS = 5_000;

/**
 * Maximum connections that hold a session of their own while the first one is asked again. A pooler that shares
 * sessions may by chance have another one free for some of them.
 */
const MAX_HOLDERS = 4;

/** Number of the session by the greeting of the server or pooler, which the driver's types leave out. */
const announcedPid = (client: pg.Client): unknown =>
  (client as pg.Client & { processID?: unknown }).processID;

const pidOf = async (client: pg.Client): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;

async function begin(client: pg.Client): Promise<void> {
  await client.connect();
  await client.query(sessionSettings({ patienceMs: CONNECT_WITHIN_MS, pauseMs: 0 }));
}

/** @returns null when the pooler has no session left for it */
async function holdSession(holder: pg.Client): Promise<number | null> {
  try {
    await begin(holder);
    await holder.query('begin');
    return await pidOf(holder);
  } catch {
    return null;
  }
}

/**
 * Connects once. Postgres announces the session that it gives; a pooler makes the number up. Behind a pooler, other
 * connections hold sessions in transactions until one of them has the session of the first, or the first has another.
 * @throws DatabaseRefused
 */
export async function checkSessions(databaseUrl: string): Promise<void> {
  const clients: pg.Client[] = [];
  const open = (): pg.Client => {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'redbook sessions',
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      query_timeout: CONNECT_WITHIN_MS,
    });
    client.on('error', () => undefined); // the query that waits gets it
    clients.push(client);
    return client;
  };
  try {
    const first = open();
    await begin(first);
    const pid = await pidOf(first);
    if (announcedPid(first) === pid) return;
    let held: number | null = 0;
    for (let holders = 0; held !== null && holders < MAX_HOLDERS; holders++) {
      held = await holdSession(open());
      if (held !== pid && (await pidOf(first)) === pid) continue;
      throw new DatabaseRefused(
        'it is behind a pooler that shares its sessions between transactions: set the pooler to session pooling, or connect without it',
      );
    }
  } finally {
    // A connection that hangs must not keep the caller waiting.
    for (const client of clients) void client.end().catch(() => undefined);
  }
}
