/**
 * Free loopback ports for the embedded servers.
 *
 * The package get-port is not used. It answers a port of the systems' own range when all others are taken, and never
 * the port that it answered in the last seconds, so that a server could not come back on its port.
 */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * The range lies below the ports that systems give to outgoing connections (32768 and up). A client that keeps dialling
 * a port of those while its server restarts sooner or later connects to itself, and takes the port away.
 */
const LOWEST = 20_000;
const HIGHEST = 30_000;
const ATTEMPTS = 200;

/** @param preferred is returned if it is free, so that a restart keeps its port */
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
