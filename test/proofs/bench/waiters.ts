/**
 * Measures what an order costs while wallets wait for changes: a thousand that do not trade, and all that do. Settlement
 * runs. A waiting wallet sends its next request when it is answered, as a bot does: each answer is one more request over
 * HTTP. Therefore the trading wallets' share is judged beside an order and as many requests to Express' hello world.
 */

import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WALLETS, walletOf } from './driver-wallets.ts';
import { build, type Exchange, openExchange, type Running, startHello } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { costlyLoad, nextHello } from './http.ts';
import type { OrderCost } from './http-rows.ts';
import { load, percentile, readAnswers } from './load.ts';
import { PRESENT } from './older-release.ts';
import { orderRequests } from './order-requests.ts';
import { bearerOf } from './sessions.ts';

const IDLE = 1_000;
const CONNECTIONS = 64;
const ROUNDS = 5;
const SECONDS = 1;
/** V8 has compiled then what an order runs. */
const WARMING_ORDERS = 20_000;
/** Longer than these take. */
const WARMING_SECONDS = 120;
/** Waits that begin together. */
const AT_ONCE = 50;
/** Waiters that were told of the last orders ask again within this time. */
const SETTLES_MS = 500;

interface Told {
  readonly changes: readonly { readonly at: string }[];
  readonly cursor: string;
}

/** Wallets that wait for their changes, each on a connection of its own. */
class Waiters {
  /** Milliseconds from each change to the answer that tells it. */
  readonly delaysMs: number[] = [];
  /** Requests that were answered. */
  answers = 0;
  readonly #url: URL;
  readonly #sockets: Socket[] = [];
  #failure: Error | undefined;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  async begin(wallets: readonly string[]): Promise<void> {
    for (let next = 0; next < wallets.length; next += AT_ONCE)
      await Promise.all(wallets.slice(next, next + AT_ONCE).map((wallet) => this.#begin(wallet)));
  }

  /** Resolves when the wallet has its first cursor, and its first wait is sent. */
  #begin(wallet: string): Promise<void> {
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port), noDelay: true });
    this.#sockets.push(socket);
    const bearer = bearerOf(wallet);
    const ask = (query: string): void => {
      socket.write(
        `GET /v1/orders/changes${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${bearer}\r\n\r\n`,
      );
    };
    ask('');
    return new Promise((resolve) => {
      socket.on('error', (error) => {
        this.#failure ??= error;
        resolve();
      });
      readAnswers(socket, (status, body) => {
        if (status !== 200) this.#failure ??= new Error(`${status}: ${body}`);
        this.answers += 1;
        const { changes, cursor } = JSON.parse(body) as Told;
        for (const { at } of changes) this.delaysMs.push(Date.now() - Date.parse(at));
        ask(`?after=${cursor}&wait=25`);
        resolve();
      });
    });
  }

  /** @throws Error if a wait was refused */
  end(): void {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** Costs of an order in one round, by who waits. */
interface Round {
  readonly nobody: OrderCost;
  readonly idle: OrderCost;
  readonly all: OrderCost;
  /** Microseconds of one request to the hello world. */
  readonly helloMicros: number;
  readonly answersAnOrder: number;
  readonly delaysMs: readonly number[];
}

const IDLE_WALLETS = Array.from(
  { length: IDLE },
  (_none, index) => `0x${index.toString(16).padStart(40, 'c')}`,
);
const TRADING_WALLETS = Array.from({ length: WALLETS }, (_none, index) => walletOf(index));

interface Processes {
  readonly api: Running;
  readonly hello: Running;
  readonly exchange: Exchange;
}

async function takeRound({ api, hello, exchange }: Processes, nextRequest: () => string): Promise<Round> {
  const helloMicros = await costlyLoad({ hello }, () =>
    load(hello.url, { connections: CONNECTIONS, seconds: SECONDS, nextRequest: nextHello }),
  );
  const cost = (): Promise<OrderCost> =>
    costlyLoad({ api, redis: exchange.engine }, () =>
      load(api.url, { connections: CONNECTIONS, seconds: SECONDS, nextRequest }),
    );
  const costWhile = async (
    wallets: readonly string[],
  ): Promise<{ cost: OrderCost; delaysMs: number[]; answersAnOrder: number }> => {
    const waiters = new Waiters(api.url);
    await waiters.begin(wallets);
    await sleep(SETTLES_MS);
    const answered = waiters.answers;
    const spent = await cost();
    const answersAnOrder = (waiters.answers - answered) / spent.requests;
    waiters.end();
    return { cost: spent, delaysMs: waiters.delaysMs, answersAnOrder };
  };
  const nobody = await cost();
  const { cost: idle } = await costWhile(IDLE_WALLETS);
  const { cost: all, ...waited } = await costWhile(TRADING_WALLETS);
  return { nobody, idle, all, ...waited, helloMicros: helloMicros.micros.hello };
}

function rowsOf(rounds: readonly Round[]): Measured[] {
  const row = (
    who: 'idle' | 'all',
    process: 'api' | 'redis',
    bound: number,
    isReported = false,
  ): Measured => ({
    name: `${NAMES[process]}, an order while ${NAMES[who]} wait`,
    unit: 'µs',
    figure: median(rounds.map((round) => round[who].micros[process])),
    reference: { name: 'nobody', figure: median(rounds.map(({ nobody }) => nobody.micros[process])) },
    target: { relation: '<=', bound, isReported },
  });
  const delaysMs = rounds.flatMap((round) => round.delaysMs);
  return [
    row('idle', 'api', 1.1),
    row('idle', 'redis', 1.1),
    row('all', 'api', 1.5, true),
    floorRow(rounds),
    row('all', 'redis', 1.5),
    {
      name: `from a change to its answer, 99 %, while ${NAMES.all} wait`,
      unit: 'ms',
      figure: percentile(delaysMs, 0.99),
      target: { relation: '<=', bound: 100 },
    },
    { name: 'the same, median', unit: 'ms', figure: percentile(delaysMs, 0.5) },
  ];
}

/** The least that the answers can cost: each is a request to Express. */
const floorRow = (rounds: readonly Round[]): Measured => ({
  name: `${NAMES.api}, the same`,
  unit: 'µs',
  figure: median(rounds.map(({ all }) => all.micros.api)),
  reference: {
    name: 'nobody, and a hello world an answer',
    figure: median(
      rounds.map(
        ({ nobody, helloMicros, answersAnOrder }) => nobody.micros.api + helloMicros * answersAnOrder,
      ),
    ),
  },
  target: { relation: '<=', bound: 1.3 },
  note: `${median(rounds.map(({ answersAnOrder }) => answersAnOrder)).toFixed(2)} answers an order`,
});

const NAMES = {
  api: 'api',
  redis: 'engine Redis',
  idle: '1,000 wallets that do not trade',
  all: 'all 500 trading wallets',
} as const;

export async function benchWaiters(): Promise<Table> {
  const hello = await startHello();
  const exchange = await openExchange(PRESENT);
  try {
    await exchange.start('settlement');
    const api = await exchange.start('api', {}, build());
    const nextRequest = orderRequests();
    let warmed = 0;
    const nextWarming = (): string | undefined => (warmed++ < WARMING_ORDERS ? nextRequest() : undefined);
    await load(api.url, {
      connections: CONNECTIONS,
      seconds: WARMING_SECONDS,
      nextRequest: nextWarming,
    });
    const rounds: Round[] = [];
    for (let round = 0; round <= ROUNDS; round += 1)
      rounds.push(await takeRound({ api, hello, exchange }, nextRequest));
    const title = `orders of ${CONNECTIONS} connections, medians of ${ROUNDS} rounds, on the build`;
    return tableOf('waiters', title, rowsOf(rounds.slice(1)));
  } finally {
    await hello.stop();
    await exchange.close();
  }
}
