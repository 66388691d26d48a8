/** How the server of a role listens, and ends without cutting anybody off. */

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const CLOSE_IDLE_EVERY_MS = 50;
/** Requests under way that take longer are cut off: an orchestrator kills the process soon after. */
const LAST_REQUESTS_MS = 10_000;

export interface Listening {
  /** Which the system chose, if 0 was asked for. */
  readonly port: number;
  /**
   * From now on each reply is the last on its connection. A proxy or a client that keeps connections leaves them one
   * by one, each after a reply, and not at a moment of ours at which its next request may be on its way.
   */
  turnAway(): void;
  /** Takes no more connections, lets requests under way end, and closes each connection when it is idle. */
  close(lastRequestsMs?: number): Promise<void>;
}

export async function listen(server: Server, port: number): Promise<Listening> {
  const sockets = track(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    turnAway() {
      server.prependListener('request', (_request, response: ServerResponse) => {
        response.setHeader('Connection', 'close');
      });
    },
    async close(lastRequestsMs = LAST_REQUESTS_MS) {
      const closed = new Promise((resolve) => server.close(resolve));
      // A closed server has no time limits any more: who sends slowly, or nothing at all, would hold it for ever.
      const cutting = setTimeout(() => server.closeAllConnections(), lastRequestsMs);
      const closing = setInterval(() => {
        server.closeIdleConnections();
        // Opened ahead, as browsers do: to Node they are not idle before their first request.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      }, CLOSE_IDLE_EVERY_MS);
      await closed;
      clearInterval(closing);
      clearTimeout(cutting);
    },
  };
}

/** Each connection, until it is closed. */
function track(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // A connection begins anew when a request on it has offered an upgrade.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}
