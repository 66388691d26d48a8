/** Listens with the server of a role, and closes it gracefully. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { StartRefusal } from '../domain/errors.ts';

const CLOSE_IDLE_EVERY_MS = 50;
/** Maximum time for requests in flight at the end. An orchestrator kills the process soon after. */
const LAST_REQUESTS_MS = 10_000;

export interface Listening {
  /** Actual port. If the setting is 0, the system chooses one. */
  readonly port: number;
  /**
   * Sends `Connection: close` with each further reply. Proxies and clients with keep-alive connections then leave one
   * by one, each after a reply. If the server closed them instead, the next request might already be on its way.
   */
  turnAway(): void;
  /** Accepts no new connections, lets requests in flight finish, and closes each connection once it is idle. */
  close(lastRequestsMs?: number): Promise<void>;
}

/** Where to listen. */
export interface ListenAddress {
  readonly port: number;
  /** IP address; absent for all interfaces. */
  readonly host?: string | undefined;
}

/**
 * @param setting name of the setting for the port
 * @throws StartRefusal if the port is not available
 */
export async function listen(server: Server, wanted: ListenAddress, setting = 'PORT'): Promise<Listening> {
  const sockets = track(server);
  await bind(server, wanted, setting);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : wanted.port,
    turnAway() {
      server.prependListener('request', (_request, response: ServerResponse) => {
        response.setHeader('Connection', 'close');
      });
    },
    async close(lastRequestsMs = LAST_REQUESTS_MS) {
      const closed = new Promise((resolve) => server.close(resolve));
      // A closed server enforces no timeouts, so a client that sends slowly, or nothing at all, would keep it open for
      // ever.
      const cutting = setTimeout(() => {
        // Node does not know those whose next request waits for the reply to another.
        for (const socket of sockets) socket.destroy();
      }, lastRequestsMs);
      const closing = setInterval(() => {
        server.closeIdleConnections();
        // Browsers open connections in advance. Node does not count these as idle before their first request.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      }, CLOSE_IDLE_EVERY_MS);
      await closed;
      clearInterval(closing);
      clearTimeout(cutting);
    },
  };
}

/**
 * Listens on another free port if the wanted one is not available.
 * @param setting name of the setting for the port
 */
export async function listenNearby(
  server: Server,
  wanted: ListenAddress,
  setting: string,
): Promise<Listening> {
  try {
    return await listen(server, wanted, setting);
  } catch (error) {
    if (!(error instanceof StartRefusal) || error.exitStatus === 2) throw error;
    return listen(server, { ...wanted, port: 0 }, setting);
  }
}

/**
 * Checks a port before starting work that is useless without it.
 * @returns the port, or a free one for 0
 * @throws StartRefusal if the port is not available
 */
export async function tryPort({ port, host }: ListenAddress): Promise<number> {
  const server = createServer();
  await bind(server, { port, host }, 'PORT');
  const found = (server.address() as AddressInfo).port;
  await new Promise((resolve) => server.close(resolve));
  return found;
}

const PORT_TROUBLES: Readonly<Record<string, (port: number) => string>> = {
  EADDRINUSE: (port) => `port ${port} is in use by another program: stop that program`,
  EACCES: (port) => `this user may not listen on port ${port}`,
};

function bind(server: Server, { port, host }: ListenAddress, setting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRNOTAVAIL')
        return reject(new StartRefusal(`HOST: no interface of this machine has the address ${host}.`, 2));
      const trouble = PORT_TROUBLES[error.code ?? ''];
      if (trouble === undefined) reject(error);
      else reject(new StartRefusal(`${setting}: ${trouble(port)}, or set ${setting} to another port.`, 1));
    });
    server.listen({ port, host }, resolve);
  });
}

/** Returns the set of open connections, which stays up to date. */
function track(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // The server emits a connection again after a request on it has offered an upgrade.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}
