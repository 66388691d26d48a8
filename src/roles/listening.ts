/** An HTTP server of a role: listens, and ends without cutting anybody off. */

import type { Server } from 'node:http';

const CLOSE_IDLE_EVERY_MS = 50;

/** @returns the port, which the system chose if 0 was asked for */
export async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** Takes no more connections, lets requests under way end, and closes each connection when it is idle. */
export async function closeGently(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const closing = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  await closed;
  clearInterval(closing);
}
