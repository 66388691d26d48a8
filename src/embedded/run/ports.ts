/**
 * Finds free loopback ports for the embedded servers.
 *
 * The package get-port is not used. When all other ports are taken it returns one of the system's own range, and it
 * never returns a port that it returned in the last seconds, so a server could not come back on its port.
 */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * The range lies below the ports that systems give to outgoing connections (32768 and up). In those, a client that
 * keeps dialling a port while its server restarts sooner or later connects to itself and takes the port.
 */
const LOWEST = 20_000;
const HIGHEST = 30_000;
const ATTEMPTS = 200;

/** @param preferred returned if it is free, so that a restarted server keeps its port */
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
