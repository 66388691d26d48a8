/** One connection of a stream. */

import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

export class Client {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  #isAlive = true;
  /** Time by performance.now() since which the client lags; undefined while it keeps up. */
  #behindSinceMs: number | undefined;
  /** True once a frame was sent to the client. */
  greeted = false;

  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#socket = socket;
    ws.on('pong', () => {
      this.#isAlive = true;
    });
  }

  /**
   * Writes encoded frames to the socket, so that all clients share the same bytes. The WebSocket object would build a
   * header for each client and message. A client that has not read its last frames misses these, so at most one beat is
   * buffered for it. A client that lags for too long is disconnected.
   * @returns true if the frames were sent
   */
  show(frames: Buffer, maxLagMs: number): boolean {
    if (this.#ws.readyState !== WebSocket.OPEN) return false;
    if (this.#socket.writableLength > 0) {
      this.#behindSinceMs ??= performance.now();
      if (performance.now() - this.#behindSinceMs >= maxLagMs) this.#ws.terminate();
      return false;
    }
    this.#behindSinceMs = undefined;
    this.#socket.write(frames);
    return true;
  }

  /** Disconnects a client that has not answered the last ping, otherwise pings it again. */
  probe(): void {
    // A ping would queue behind the unread frames. `show` limits how long these may wait.
    if (this.#ws.readyState !== WebSocket.OPEN || this.#socket.writableLength > 0) return;
    if (this.#isAlive) this.#ws.ping();
    else this.#ws.terminate();
    this.#isAlive = false;
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }
}
