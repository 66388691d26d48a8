/** Ports for what tests start, which takes seconds until it listens: none is given out twice in a run. */

import { freePort as anyFreePort } from '../../src/embedded/run/ports.ts';

/** As many processes may run tests at a time; each gives out ports of its own. */
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
