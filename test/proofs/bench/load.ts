/**
 * A load generator that uses little processor time: keep-alive connections, each with one request at a time. It runs on
 * the same processors as the servers it measures; autocannon would use three times as much of them.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  /** Returns the next raw request; undefined ends the load early. */
  readonly nextRequest: () => string | undefined;
  /** Called with the body of each 2xx and its request. */
  readonly onAnswer?: (body: string, request: string) => void;
  /**
   * Fixed request rate, independent of the answers. By default each connection sends its next request when it is
   * answered.
   */
  readonly perSecond?: number;
}

export interface Loaded {
  readonly requests: number;
  /** Wall-clock duration. */
  readonly seconds: number;
  /** Latency of each request, measured from the time it was due. */
  readonly latenciesMs: readonly number[];
}

const HEAD_END = '\r\n\r\n';
const LENGTH = /^content-length: *(\d+)/im;

/** Parses answers from a connection and calls `onAnswer` at the end of each. */
export function readAnswers(socket: Socket, onAnswer: (status: number, body: string) => void): void {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text = text === '' ? chunk : text + chunk;
    for (;;) {
      const end = text.indexOf(HEAD_END);
      if (end < 0) return;
      const bodyAt = end + HEAD_END.length;
      const length = LENGTH.exec(text.slice(0, end))?.[1];
      if (length === undefined) {
        socket.destroy(new Error('an answer without a length'));
        return;
      }
      const next = bodyAt + Number(length);
      if (text.length < next) return;
      const status = Number(text.slice(9, 12));
      const body = text.slice(bodyAt, next);
      text = text.slice(next);
      onAnswer(status, body);
    }
  });
}

interface Sent {
  readonly request: string;
  readonly dueMs: number;
}

class Load {
  readonly #options: LoadOptions;
  readonly #latenciesMs: number[] = [];
  readonly #beganMs = performance.now();
  /** Brought forward when there are no more requests. */
  #endMs: number;
  readonly #idle: Socket[] = [];
  readonly #sent = new Map<Socket, Sent>();
  /** Due times of requests that wait for a free connection. */
  readonly #waitingMs: number[] = [];
  #begun = 0;
  #failure: Error | undefined;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#endMs = this.#beganMs + options.seconds * 1_000;
  }

  async run(sockets: readonly Socket[]): Promise<Loaded> {
    for (const socket of sockets) {
      socket.on('error', (error) => this.#fail(error));
      socket.on('close', () => this.#fail(new Error('a connection was closed')));
      readAnswers(socket, (status, body) => this.#take(socket, status, body));
      this.#next(socket);
    }
    while (this.#failure === undefined && (performance.now() < this.#endMs || this.#sent.size > 0)) {
      await sleep(1);
      this.#sendWhatIsDue();
    }
    const seconds = (performance.now() - this.#beganMs) / 1_000;
    if (this.#failure !== undefined) throw this.#failure;
    return { requests: this.#latenciesMs.length, seconds, latenciesMs: this.#latenciesMs };
  }

  #fail(error: Error): void {
    this.#failure ??= error;
  }

  #take(socket: Socket, status: number, body: string): void {
    const { request, dueMs } = this.#sent.get(socket)!;
    this.#sent.delete(socket);
    this.#latenciesMs.push(performance.now() - dueMs);
    if (status >= 200 && status <= 299) this.#options.onAnswer?.(body, request);
    else this.#fail(new Error(`${status}: ${body}`));
    this.#next(socket);
  }

  #next(socket: Socket): void {
    const nowMs = performance.now();
    if (this.#failure !== undefined || nowMs >= this.#endMs) return;
    if (this.#options.perSecond === undefined) this.#send(socket, nowMs);
    else if (this.#waitingMs.length > 0) this.#send(socket, this.#waitingMs.shift()!);
    else this.#idle.push(socket);
  }

  #send(socket: Socket, dueMs: number): void {
    const request = this.#options.nextRequest();
    if (request === undefined) {
      this.#endMs = performance.now();
      return;
    }
    this.#sent.set(socket, { request, dueMs });
    socket.write(request);
  }

  #sendWhatIsDue(): void {
    const { perSecond } = this.#options;
    const nowMs = performance.now();
    if (perSecond === undefined || nowMs >= this.#endMs) return;
    for (; this.#begun < ((nowMs - this.#beganMs) / 1_000) * perSecond; this.#begun += 1) {
      const dueMs = this.#beganMs + (this.#begun / perSecond) * 1_000;
      const socket = this.#idle.pop();
      if (socket === undefined) this.#waitingMs.push(dueMs);
      else this.#send(socket, dueMs);
    }
  }
}

/** @throws when a request fails or is refused, because the figures would then mean nothing */
export async function load(url: string, options: LoadOptions): Promise<Loaded> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: options.connections }, () =>
    connect({ host: hostname, port: Number(port), noDelay: true }),
  );
  try {
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    return await new Load(options).run(sockets);
  } finally {
    for (const socket of sockets) socket.removeAllListeners('close').destroy();
  }
}

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
};
