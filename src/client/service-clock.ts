/** The service's time, as the `Date` headers of its answers tell it. The clock of this machine may be wrong. */

import type { Connection } from './connection.ts';

/** Milliseconds that the service's time is ahead of the connection's clock, at least. */
const offsets = /* @__PURE__ */ new WeakMap<Connection, number>();

/** Notes the header of an answer. It has whole seconds, rounded down, so it is never later than the answer came. */
export function noteDate(connection: Connection, date: string | null): void {
  const offset = Date.parse(date ?? '') - connection.clock.now();
  if (!Number.isNaN(offset)) offsets.set(connection, offset);
}

/**
 * Returns the earliest time that the service's clock may show at a moment of the connection's clock, in Unix
 * milliseconds; undefined before the first answer.
 */
export function serviceTime(connection: Connection, atMs = connection.clock.now()): number | undefined {
  const offset = offsets.get(connection);
  return offset === undefined ? undefined : atMs + offset;
}
