/** An honest wallet beside an attack: the latencies of its orders, cancels, lists and frames, and what was refused. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { readAnswers } from './load.ts';
import { bearerOf } from './sessions.ts';

export const ATTACKED = 'ETH/USDC';
export const OTHER = 'BTC/USDC';

/** Enough that no request waits for one: the queue of a client with few would be measured in place of the service. */
const CONNECTIONS = 32;
/** One list for so many pairs: the lists of a wallet take turns, and more than this would wait for each other. */
const PAIRS_A_LIST = 10;
const TICK_MS = 2;
const FIRST_FRAMES_MS = 500;

/** Kinds of what the wallet waits for. Orders and cancels come in pairs, so that few orders are live. */
export const KINDS = ['order', 'order elsewhere', 'cancel', 'list', 'frame'] as const;
export type Kind = (typeof KINDS)[number];

export interface Seen {
  /** Milliseconds from the moment when each was due. */
  readonly latenciesMs: Readonly<Record<Kind, readonly number[]>>;
  /** Replies that are no 200, by kind and status. */
  readonly refused: ReadonlyMap<string, number>;
}

interface Due {
  readonly request: string;
  readonly sinceMs: number;
}

/** Connections of one kind of request, each with one request at a time. */
class Lane {
  readonly latenciesMs: number[] = [];
  readonly #idle: Socket[] = [];
  readonly #sent = new Map<Socket, Due>();
  readonly #waiting: Due[] = [];
  readonly #onAnswer: (status: number, body: string) => void;
  readonly sockets: readonly Socket[];

  constructor(port: number, onAnswer: (status: number, body: string) => void) {
    this.#onAnswer = onAnswer;
    this.sockets = Array.from({ length: CONNECTIONS }, () =>
      connect({ port, host: '127.0.0.1', noDelay: true }),
    );
    for (const socket of this.sockets) {
      socket.on('error', () => undefined);
      readAnswers(socket, (status, body) => this.#take(socket, status, body));
      this.#idle.push(socket);
    }
  }

  get isBusy(): boolean {
    return this.#sent.size > 0 || this.#waiting.length > 0;
  }

  send(request: string): void {
    const due = { request, sinceMs: performance.now() };
    // In turns, because the server ends a connection that sends nothing.
    const socket = this.#idle.shift();
    if (socket === undefined) this.#waiting.push(due);
    else this.#write(socket, due);
  }

  #write(socket: Socket, due: Due): void {
    this.#sent.set(socket, due);
    socket.write(due.request);
  }

  #take(socket: Socket, status: number, body: string): void {
    this.latenciesMs.push(performance.now() - this.#sent.get(socket)!.sinceMs);
    this.#sent.delete(socket);
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(socket);
    else this.#write(socket, next);
    this.#onAnswer(status, body);
  }
}

function requestOf(wallet: string, method: string, path: string, body = ''): string {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: ${bearerOf(wallet)}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    '',
  ];
  return `${head.join('\r\n')}${body}`;
}

/** Frames of both streams, from when they were built to when they come. */
async function watch(port: number, latenciesMs: number[]): Promise<{ close(): void }> {
  const paths = ['/ws', `/ws/market?symbol=${encodeURIComponent(ATTACKED)}&tf=1m`];
  const screens = paths.map((path) => new WebSocket(`ws://127.0.0.1:${port}${path}`));
  for (const screen of screens) {
    const openedMs = performance.now();
    screen.on('message', (data) => {
      // A replica sends the last frames at once, which may be older.
      if (performance.now() - openedMs < FIRST_FRAMES_MS) return;
      const { time } = JSON.parse(String(data));
      if (typeof time === 'number') latenciesMs.push(Date.now() - time);
    });
    screen.on('error', () => undefined);
  }
  await Promise.all(screens.map((screen) => once(screen, 'open')));
  return { close: () => screens.forEach((screen) => void screen.terminate()) };
}

interface Asked {
  readonly api: number;
  readonly stream: number;
  readonly wallet: string;
  readonly seconds: number;
  /** Pairs of an order and its cancel in a second. */
  readonly perSecond: number;
}

export async function beHonest({ api, stream, wallet, seconds, perSecond }: Asked): Promise<Seen> {
  const refused = new Map<string, number>();
  const note = (kind: Kind, status: number): void => {
    if (status === 200) return;
    const name = `${kind} ${status}`;
    refused.set(name, (refused.get(name) ?? 0) + 1);
  };
  const cancels = new Lane(api, (status) => note('cancel', status));
  const orders = (kind: Kind): Lane =>
    new Lane(api, (status, body) => {
      note(kind, status);
      if (status === 200) cancels.send(requestOf(wallet, 'DELETE', `/v1/orders/${JSON.parse(body).id}`));
    });
  const markets = { order: ATTACKED, 'order elsewhere': OTHER };
  const lanes = { order: orders('order'), 'order elsewhere': orders('order elsewhere') };
  const lists = new Lane(api, (status) => note('list', status));
  const frames: number[] = [];
  const screens = await watch(stream, frames);
  const all = [lanes.order, lanes['order elsewhere'], lists, cancels];
  const beganMs = performance.now();
  for (let sent = 0; sent < seconds * perSecond; await sleep(TICK_MS))
    for (; sent < ((performance.now() - beganMs) / 1_000) * perSecond; sent += 1) {
      const kind = sent % 2 === 0 ? 'order' : 'order elsewhere';
      const order = { market: markets[kind], side: 'buy', type: 'limit', price: 100, size: 0.01 };
      lanes[kind].send(requestOf(wallet, 'POST', '/v1/orders', JSON.stringify(order)));
      if (sent % PAIRS_A_LIST === 0) lists.send(requestOf(wallet, 'GET', '/v1/orders?limit=20'));
    }
  const endMs = performance.now() + 10_000;
  while (all.some((lane) => lane.isBusy) && performance.now() < endMs) await sleep(TICK_MS);
  if (all.some((lane) => lane.isBusy)) refused.set('without an answer', 1);
  for (const { sockets } of all) for (const socket of sockets) socket.destroy();
  screens.close();
  const latenciesMs = {
    order: lanes.order.latenciesMs,
    'order elsewhere': lanes['order elsewhere'].latenciesMs,
    cancel: cancels.latenciesMs,
    list: lists.latenciesMs,
    frame: frames,
  };
  return { latenciesMs, refused };
}
