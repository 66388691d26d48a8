/**
 * Measures what wallets at their limits cost: an order that a full queue refuses, one beyond the limit of live orders,
 * and the orders of a wallet that has thousands, each beside what the same costs another wallet.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WALLETS, walletOf } from './driver-wallets.ts';
import { build, type Exchange, openExchange, type Running } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { costlyLoad } from './http.ts';
import type { OrderCost } from './http-rows.ts';
import { load } from './load.ts';
import { PRESENT } from './older-release.ts';
import { cancelOf, requestsOf, restingOrder, tradingOrder } from './order-requests.ts';

const MANY = 64;
const FEW = 8;
const ROUNDS = 5;
const SECONDS = 0.6;
const WARMING_SECONDS = 3;
/** Commands of one wallet that may wait. */
const QUEUE = 256;
/** Longest time for which Redis holds commands back. */
const HELD_MS = 4_000;
/** Live orders of the wallet that has many, and of the others in most rounds. */
const THOUSANDS = 9_000;
const TEN = 10;

const [QUEUED, FULL, CROWDED, SPARSE] = [walletOf(1), walletOf(2), walletOf(3), walletOf(4)];
/** Wallets that are at no limit. */
const OTHERS = Array.from({ length: WALLETS - 5 }, (_none, index) => walletOf(index + 5));

/** Costs of one round. */
interface Round {
  readonly order: OrderCost;
  readonly refusedByQueue: OrderCost;
  readonly rest: OrderCost;
  readonly refusedByLimit: OrderCost;
  readonly ofTen: OrderCost;
  readonly ofThousands: OrderCost;
}

class Limits {
  readonly #exchange: Exchange;
  readonly #api: Running;
  readonly #nextOrder = requestsOf(OTHERS, tradingOrder);

  constructor(exchange: Exchange, api: Running) {
    this.#exchange = exchange;
    this.#api = api;
  }

  #cost(nextRequest: () => string | undefined, options: object): Promise<OrderCost> {
    const watched = { api: this.#api, redis: this.#exchange.engine };
    return costlyLoad(watched, () =>
      load(this.#api.url, { connections: FEW, seconds: SECONDS, nextRequest, ...options }),
    );
  }

  order(seconds = SECONDS): Promise<OrderCost> {
    return this.#cost(this.#nextOrder, { connections: MANY, seconds });
  }

  /** Orders of a wallet whose queue is full, because the engine's Redis holds its commands back. */
  async refusedByQueue(): Promise<OrderCost> {
    const next = requestsOf([QUEUED], restingOrder);
    const { hostname, port } = new URL(this.#api.url);
    const waiting: Socket[] = [];
    await this.#exchange.redis.call('CLIENT', 'PAUSE', HELD_MS, 'WRITE');
    for (let sent = 0; sent <= QUEUE; sent += 1) {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      socket.write(next());
      waiting.push(socket);
    }
    const answers = waiting.map((socket) => once(socket, 'data'));
    await Promise.race(answers); // the refusal of the one too many
    const cost = await this.#cost(next, { connections: MANY, alsoStatus: 503 });
    await this.#exchange.redis.call('CLIENT', 'UNPAUSE');
    await Promise.all(answers);
    for (const socket of waiting) socket.destroy();
    return cost;
  }

  /** Orders of a wallet that has as many live orders as it may. */
  refusedByLimit(): Promise<OrderCost> {
    return this.#cost(requestsOf([FULL], restingOrder), { alsoStatus: 400 });
  }

  rest(): Promise<OrderCost> {
    return this.#cost(requestsOf(OTHERS, restingOrder), {});
  }

  /** Orders of a wallet that rest, each cancelled next. */
  restAndCancel(wallet: string): Promise<OrderCost> {
    const next = requestsOf([wallet], restingOrder);
    const cancels: string[] = [];
    const onAnswer = (body: string, request: string): void => {
      if (request.startsWith('POST')) cancels.push(cancelOf(body, request));
    };
    return this.#cost(() => cancels.shift() ?? next(), { onAnswer });
  }

  /** Rests so many orders of a wallet. */
  async fill(wallet: string, orders: number): Promise<void> {
    const next = requestsOf([wallet], restingOrder);
    let sent = 0;
    const nextRequest = (): string | undefined => (sent++ < orders ? next() : undefined);
    await load(this.#api.url, { connections: FEW, seconds: 60, nextRequest });
  }

  async round(): Promise<Round> {
    return {
      order: await this.order(),
      refusedByQueue: await this.refusedByQueue(),
      rest: await this.rest(),
      refusedByLimit: await this.refusedByLimit(),
      ofTen: await this.restAndCancel(SPARSE),
      ofThousands: await this.restAndCancel(CROWDED),
    };
  }
}

function rowsOf(rounds: readonly Round[]): Measured[] {
  const row = (
    name: string,
    process: 'api' | 'redis',
    bound: number,
    [of, beside]: readonly [keyof Round, keyof Round],
    reference: string,
  ): Measured => ({
    ...{ name, unit: 'µs', figure: median(rounds.map((round) => round[of].micros[process])) },
    reference: { name: reference, figure: median(rounds.map((round) => round[beside].micros[process])) },
    target: { relation: '<=', bound },
  });
  const queue = ['refusedByQueue', 'order'] as const;
  const limit = ['refusedByLimit', 'rest'] as const;
  const many = ['ofThousands', 'ofTen'] as const;
  return [
    row('api, an order that a full queue refuses', 'api', 0.5, queue, 'an order, 64 connections'),
    row('api, an order at the limit of live orders', 'api', 1.2, limit, 'a resting order'),
    row('engine Redis, an order at that limit', 'redis', 1.2, limit, 'a resting order'),
    row('api, an order or its cancel, 9,000 live', 'api', 1.1, many, 'of a wallet with 10'),
    row('engine Redis, an order or its cancel, 9,000 live', 'redis', 1.1, many, 'of a wallet with 10'),
  ];
}

export async function benchLimits(): Promise<Table> {
  const exchange = await openExchange(PRESENT);
  try {
    const api = await exchange.start('api', { MAX_LIVE_ORDERS: `${THOUSANDS + QUEUE}` }, build());
    const limits = new Limits(exchange, api);
    await limits.fill(CROWDED, THOUSANDS);
    await limits.fill(FULL, THOUSANDS + QUEUE);
    await limits.fill(SPARSE, TEN);
    await limits.order(WARMING_SECONDS);
    const rounds: Round[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) rounds.push(await limits.round());
    return tableOf('limits', `medians of ${ROUNDS} rounds, on the build`, rowsOf(rounds.slice(1)));
  } finally {
    await exchange.close();
  }
}
