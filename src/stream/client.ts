/** One connection of a stream. */

import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

export class Client {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  #isAlive = true;
  /** Time since which the client lags, by performance.now(); undefined while it keeps up. */
  #behindSinceMs: number | undefined;
  /** True once the client was shown a frame. */
  greeted = false;

  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#socket = socket;
    ws.on('pong', () => {
      this.#isAlive = true;
    });
  }

  /**
   * Writes finished frames to the socket, so that all clients share the same bytes. The WebSocket object would make a
   * header for each client and message. A client that has not taken its last frames loses these, so at most one tick waits for it. A
   * client that lags for too long is dropped.
   * @returns true when the frames were sent
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

  /** Drops a client that has not answered the last ping, and pings it again otherwise. */
  probe(): void {
    // A ping would wait behind frames that wait; `show` decides how long they may.
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
