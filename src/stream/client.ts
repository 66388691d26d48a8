/** One connection of a stream. */

import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

export class Client {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  #isAlive = true;
  /** By performance.now(); undefined while it keeps up. */
  #behindSinceMs: number | undefined;
  /** Whether it was shown anything yet. */
  greeted = false;

  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#socket = socket;
    ws.on('pong', () => {
      this.#isAlive = true;
    });
  }

  /**
   * Writes whole frames past the WebSocket object, which would make a header for each client and message (the
   * frames are then those of all clients, in one write). A client that has not taken what it was sent before
   * loses them: at most one tick of frames ever waits for it. One that lags for too long is dropped.
   * @returns whether they were sent
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

  /** Drops it when it has not answered the last time, and asks again. */
  probe(): void {
    // A ping behind frames that wait would only wait as well; how long they may is decided by `show`.
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
