/** Fake WebSockets that a test opens, sends frames through and breaks. */

import type { SocketEvent, WebSocketClass } from '../../src/client/connection.ts';

export class FakeSocket {
  readonly url: string;
  isClosed = false;
  readonly #listeners: [type: string, listener: (event: SocketEvent) => void][] = [];

  constructor(url: string) {
    this.url = url;
  }

  addEventListener(type: string, listener: (event: SocketEvent) => void): void {
    this.#listeners.push([type, listener]);
  }

  close(): void {
    this.isClosed = true;
  }

  #emit(type: string, event: Omit<SocketEvent, 'type'> = {}): void {
    for (const [wanted, listener] of this.#listeners) if (wanted === type) listener({ type, ...event });
  }

  open(): void {
    this.#emit('open');
  }

  say(frame: object | string): void {
    this.#emit('message', { data: typeof frame === 'string' ? frame : JSON.stringify(frame) });
  }

  break(code = 1006, reason = ''): void {
    this.isClosed = true;
    this.#emit('close', { code, reason });
  }
}

/** Returns a WebSocket class, and functions that return its latest socket and the number of its sockets. */
export function fakeSockets(): { WebSocket: WebSocketClass; last(): FakeSocket; count(): number } {
  const made: FakeSocket[] = [];
  class Recorded extends FakeSocket {
    constructor(url: string) {
      super(url);
      made.push(this);
    }
  }
  return { WebSocket: Recorded, last: () => made.at(-1)!, count: () => made.length };
}
