/** Ends connections whose client does not take its reply. */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Least part of a reply that a client must take within the time limit. */
const LEAST_BYTES = 16 * 1024;
const LOOKS_PER_LIMIT = 10;

/** A connection with unread bytes. */
interface Unread {
  readonly takenBytes: number;
  readonly sinceMs: number;
}

/** Node's handle of a socket, whose figures Node's own timeout of a socket reads too. */
interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

/** Returns the bytes that the system has taken. `socket.bytesWritten` also counts the rest of a large write. */
function takenBytes(socket: Socket): number {
  const handle = (socket as { _handle?: Handle | null })._handle;
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten;
}

/**
 * Ends each connection of the server that takes less than 16 KiB of its reply within the limit.
 * @returns a function that leaves a connection alone from now on
 */
export function endStalledReplies(server: Server, limitMs: number): (socket: Socket) => void {
  const sockets = new Map<Socket, Unread | undefined>();
  server.on('connection', (socket: Socket) => {
    // The server emits a connection again after a request on it has offered an upgrade.
    if (sockets.has(socket)) return;
    sockets.set(socket, undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  const look = (): void => {
    const nowMs = performance.now();
    for (const [socket, unread] of sockets) {
      if (socket.writableLength === 0) {
        if (unread !== undefined) sockets.set(socket, undefined);
      } else if (unread === undefined) {
        sockets.set(socket, { takenBytes: takenBytes(socket), sinceMs: nowMs });
      } else if (nowMs - unread.sinceMs >= limitMs) {
        const taken = takenBytes(socket);
        if (taken - unread.takenBytes < LEAST_BYTES) socket.destroy();
        else sockets.set(socket, { takenBytes: taken, sinceMs: nowMs });
      }
    }
  };
  const looking = setInterval(look, Math.max(1, limitMs / LOOKS_PER_LIMIT)).unref();
  server.on('close', () => clearInterval(looking));
  return (socket) => void sockets.delete(socket);
}
