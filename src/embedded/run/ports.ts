/** Free loopback ports for the embedded servers. */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below what systems hand out for outgoing connections (32768 and up): a client that keeps dialling a port of
 * that range while its server restarts sooner or later connects to itself and takes the port away.
 */
const LOWEST = 20_000;
const HIGHEST = 30_000;
const ATTEMPTS = 200;

/** @param preferred is answered when it is free, so that a restart keeps its port */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(preferred))) return preferred;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port on 127.0.0.1 between ${LOWEST} and ${HIGHEST}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
