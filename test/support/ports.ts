/** Reserves ports for programs that take seconds until they listen. No port is reserved twice in a run. */

import { freePort as anyFreePort } from '../../src/embedded/run/ports.ts';

/** Maximum concurrent test processes. Each reserves ports from its own range. */
const PROCESSES = 4;
const own = Number(process.env.MOCHA_WORKER_ID ?? 0) % PROCESSES;
const given = new Set<number>();

export async function freePort(): Promise<number> {
  for (;;) {
    const port = await anyFreePort();
    if (port % PROCESSES !== own || given.has(port)) continue;
    given.add(port);
    return port;
  }
}
