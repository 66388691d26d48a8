/** Lets settlement stand still without a signal. */

import pg from 'pg';
import type { Cluster } from '../cluster.ts';

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
