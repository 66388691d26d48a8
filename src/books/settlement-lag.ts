/** Measures how far Postgres is behind the engine. */

import type { Cursor, EngineEvent } from '../domain/event.ts';

export interface Lag {
  /** Number of events that the engine has and the ledger lacks. */
  readonly events: number;
  /** Age of the oldest such event in milliseconds; 0 when there is none. */
  readonly ageMs: number;
}

interface EventReader {
  readEvents(after: Cursor, count: number, weight: number): Promise<EngineEvent[]>;
}

/**
 * @param newest the engine's last event
 * @param settled the ledger's last event
 */
export async function lagBetween(outbox: EventReader, newest: Cursor, settled: Cursor): Promise<Lag> {
  const events = Math.max(0, newest.sequence - settled.sequence);
  if (events === 0) return { events, ageMs: 0 };
  // The event at the cursor is read as well while the stream has it.
  const found = await outbox.readEvents(settled, 1, 1);
  const oldest = found.find(({ sequence }) => sequence > settled.sequence);
  return { events, ageMs: oldest === undefined ? 0 : Math.max(0, Date.now() - oldest.timeMs) };
}
