/** Listens with the server of a role, and ends it without cutting off any client. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { StartRefusal } from '../domain/errors.ts';

const CLOSE_IDLE_EVERY_MS = 50;
/** Longest time that requests under way get. An orchestrator kills the process soon after. */
const LAST_REQUESTS_MS = 10_000;

export interface Listening {
  /** The port that was taken; the system chooses one for 0. */
  readonly port: number;
  /**
   * Makes each reply from now on the last on its connection. Proxies and clients that keep connections leave them one
   * by one, each after a reply. The server would close at a moment when the next request may be on its way.
   */
  turnAway(): void;
  /** Takes no more connections, lets requests under way end, and closes each connection when it is idle. */
  close(lastRequestsMs?: number): Promise<void>;
}

/**
 * @param setting that the port comes from
 * @throws StartRefusal when the port cannot be had
 */
export async function listen(server: Server, port: number, setting = 'PORT'): Promise<Listening> {
  const sockets = track(server);
  await bind(server, port, setting);
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
      // A closed server enforces no time limits any more: a client that sends slowly, or nothing at all, would hold it
      // for ever.
      const cutting = setTimeout(() => server.closeAllConnections(), lastRequestsMs);
      const closing = setInterval(() => {
        server.closeIdleConnections();
        // Browsers open connections ahead. Node does not count them as idle before their first request.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      }, CLOSE_IDLE_EVERY_MS);
      await closed;
      clearInterval(closing);
      clearTimeout(cutting);
    },
  };
}

/**
 * Tries a port before work begins that only a process with this port can use.
 * @returns the port, or a free one for 0
 * @throws StartRefusal when it cannot be had
 */
export async function tryPort(port: number): Promise<number> {
  const server = createServer();
  await bind(server, port, 'PORT');
  const found = (server.address() as AddressInfo).port;
  await new Promise((resolve) => server.close(resolve));
  return found;
}

const PORT_TROUBLES: Readonly<Record<string, (port: number) => string>> = {
  EADDRINUSE: (port) => `port ${port} is in use by another program: stop that program`,
  EACCES: (port) => `this user may not listen on port ${port}`,
};

function bind(server: Server, port: number, setting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const trouble = PORT_TROUBLES[error.code ?? ''];
      if (trouble === undefined) reject(error);
      else reject(new StartRefusal(`${setting}: ${trouble(port)}, or set ${setting} to another port.`, 1));
    });
    server.listen(port, resolve);
  });
}

/** Returns the set of open connections, kept up to date. */
function track(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // A connection is announced again when a request on it has offered an upgrade.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}
