/**
 * A client that takes as little of the machine as it can: keep-alive connections, each with one request at a time. The
 * client runs on the processors that it measures, and autocannon would take three times as much of them.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests, in the order in which they leave. */
  readonly nextRequest: () => string;
  /** Requests begin at this rate whatever the answers; unless given, each connection sends when it is answered. */
  readonly perSecond?: number;
}

export interface Loaded {
  readonly requests: number;
  /** By the clock. */
  readonly seconds: number;
  /** Of each request, from when it was due. */
  readonly latenciesMs: readonly number[];
}

const HEAD_END = '\r\n\r\n';
const LENGTH = /^content-length: *(\d+)/im;

/** Reads answers off a connection and calls `onAnswer` at the end of each. */
function readAnswers(socket: Socket, onAnswer: (status: number, body: string) => void): void {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text = text === '' ? chunk : text + chunk;
    for (;;) {
      const end = text.indexOf(HEAD_END);
      if (end < 0) return;
      const bodyAt = end + HEAD_END.length;
      const length = LENGTH.exec(text.slice(0, end))?.[1];
      if (length === undefined) throw new Error('an answer without a length');
      const next = bodyAt + Number(length);
      if (text.length < next) return;
      const [status, body] = [Number(text.slice(9, 12)), text.slice(bodyAt, next)];
      text = text.slice(next);
      onAnswer(status, body);
    }
  });
}

/** @throws when a request fails or is refused: such a run means nothing */
export async function load(url: string, options: LoadOptions): Promise<Loaded> {
  const { connections, seconds, nextRequest, perSecond } = options;
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: connections }, () =>
    connect({ host: hostname, port: Number(port), noDelay: true }),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const latenciesMs: number[] = [];
  const [beganMs, endMs] = [performance.now(), performance.now() + seconds * 1_000];
  const idle: Socket[] = [];
  const due: number[] = [];
  let [busy, failure] = [0, undefined as Error | undefined];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const send = (socket: Socket, dueMs: number): void => {
    busy += 1;
    dueAt.set(socket, dueMs);
    socket.write(nextRequest());
  };
  const dueAt = new Map<Socket, number>();
  const next = (socket: Socket): void => {
    const nowMs = performance.now();
    if (failure !== undefined || nowMs >= endMs) {
      if (busy === 0) finish();
    } else if (perSecond === undefined) send(socket, nowMs);
    else if (due.length > 0) send(socket, due.shift()!);
    else idle.push(socket);
  };
  const fail = (error: Error): void => {
    failure ??= error;
    finish();
  };
  for (const socket of sockets) {
    socket.on('error', fail).on('close', () => fail(new Error('a connection was closed')));
    readAnswers(socket, (status, body) => {
      busy -= 1;
      if (status < 200 || status > 299) fail(new Error(`${status}: ${body}`));
      latenciesMs.push(performance.now() - dueAt.get(socket)!);
      next(socket);
    });
    next(socket);
  }
  let begun = 0;
  const clock = setInterval(() => {
    const nowMs = performance.now();
    if (nowMs >= endMs && busy === 0) return finish();
    if (perSecond === undefined || nowMs >= endMs) return;
    for (; begun < ((nowMs - beganMs) / 1_000) * perSecond; begun += 1) {
      const dueMs = beganMs + (begun / perSecond) * 1_000;
      const socket = idle.pop();
      if (socket === undefined) due.push(dueMs);
      else send(socket, dueMs);
    }
  }, 1);
  await finished;
  clearInterval(clock);
  const elapsed = (performance.now() - beganMs) / 1_000;
  for (const socket of sockets) socket.removeAllListeners('close').destroy();
  if (failure !== undefined) throw failure;
  return { requests: latenciesMs.length, seconds: elapsed, latenciesMs };
}

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
};
