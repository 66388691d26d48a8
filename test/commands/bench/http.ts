/**
 * Compares `POST /v1/orders` on one api process with Express' hello world, in turn and over the same number of
 * connections. Half of the orders rest, half are filled, and each has a client order id. Redis and Postgres are real
 * and durable. Settlement does not run, because in service it would run on another machine. The targets are in
 * processor time, because wall-clock time includes the client's and Redis' share of this machine.
 */

import autocannon from 'autocannon';
import { WALLETS, walletOf } from './driver-wallets.ts';
import { bearerOf, openExchange, type Running, startHello } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { type Loaded, load, percentile } from './load.ts';
import { PRESENT } from './older-release.ts';
import { measureProcessors, type Spent, type Watched } from './processors.ts';

const ROUNDS = 5;
const SECONDS = 2;
const WARMING_SECONDS = 5;
const MANY = 64;
const FEW = 8;
const HELLO = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

export const nextHello = (): string => HELLO;

/** Wallets alternate: one buys, the next sells at the same price, so every other order is filled. */
const tradingOrder = (index: number): object => ({
  ...{ market: 'ETH/USDC', side: index % 2 === 0 ? 'buy' : 'sell', type: 'limit', price: 2000, size: 0.01 },
});

const restingOrder = (index: number): object => ({
  ...{ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 100 + (index % 100), size: 0.01 },
});

let serial = 0;

/** Orders of all wallets in turn, each with its own client order id. */
export function orderRequests(orderOf = tradingOrder): () => string {
  const heads = Array.from({ length: WALLETS }, (_none, index) =>
    [
      ...['POST /v1/orders HTTP/1.1', 'Host: localhost', `Authorization: ${bearerOf(walletOf(index))}`],
      ...['Content-Type: application/json', 'Content-Length: '],
    ].join('\r\n'),
  );
  return () => {
    const clientOrderId = `bench-${serial.toString().padStart(14, '0')}`;
    const body = JSON.stringify({ ...orderOf(serial), clientOrderId });
    const request = `${heads[serial % WALLETS]}${body.length}\r\n\r\n${body}`;
    serial += 1;
    return request;
  };
}

/**
 * Microseconds that a cancel costs each process. The orders are placed for this purpose and cancelled one after the
 * other.
 */
async function costOfCancels({ api, redis }: Processes): Promise<Readonly<Record<'api' | 'redis', number>>> {
  const cancels: string[] = [];
  const onAnswer = (body: string, request: string): void => {
    const id = /"id":"([0-9a-f]+)"/.exec(body)![1];
    const bearer = /^Authorization: .*$/m.exec(request)![0].trim();
    cancels.push(`DELETE /v1/orders/${id} HTTP/1.1\r\nHost: localhost\r\n${bearer}\r\n\r\n`);
  };
  const nextRequest = orderRequests(restingOrder);
  await load(api.url, { connections: MANY, seconds: SECONDS, nextRequest, onAnswer });
  const cancelling = { connections: MANY, seconds: SECONDS * 2, nextRequest: () => cancels.pop() };
  return (await costlyLoad({ api, redis }, () => load(api.url, cancelling))).micros;
}

/** A load, and the cost of one of its requests for each process in microseconds and thousands of instructions. */
export interface Costly<Name extends string> extends Loaded {
  readonly micros: Readonly<Record<Name, number>>;
  readonly instructions: Readonly<Record<Name, number | undefined>>;
}

/** Loads a server and measures the cost of one request for each process. */
export async function costlyLoad<Name extends string>(
  watched: Readonly<Record<Name, Watched>>,
  run: () => Promise<Loaded>,
): Promise<Costly<Name>> {
  const { result, spent } = await measureProcessors(watched, run);
  const names = Object.entries<Spent>(spent);
  const of = (amount: (one: Spent) => number | undefined) =>
    Object.fromEntries(names.map(([name, one]) => [name, amount(one)])) as Record<Name, number>;
  return {
    ...result,
    micros: of(({ seconds }) => (seconds * 1e6) / result.requests),
    instructions: of(({ instructions }) => instructions && instructions / result.requests / 1_000),
  };
}

type OrderCost = Costly<'api' | 'redis'>;
type HelloCost = Costly<'hello'>;

interface Round {
  readonly many: { readonly orders: OrderCost; readonly hello: HelloCost };
  readonly few: { readonly orders: OrderCost; readonly hello: HelloCost };
  /** Requests per second, measured by autocannon. */
  readonly cannon: { readonly orders: number; readonly hello: number };
  readonly cancel: Readonly<Record<'api' | 'redis', number>>;
}

/** The processes that are measured. */
interface Processes {
  readonly api: Running;
  readonly hello: Running;
  readonly redis: Watched;
}

async function takeRounds(
  { api, hello, redis }: Processes,
  nextOrder: () => string,
): Promise<{ rounds: Round[]; p99: Measured }> {
  const loadOrders = (connections: number, seconds = SECONDS) =>
    costlyLoad({ api, redis }, () => load(api.url, { connections, seconds, nextRequest: nextOrder }));
  const loadHello = (connections: number, seconds = SECONDS) =>
    costlyLoad({ hello }, () => load(hello.url, { connections, seconds, nextRequest: nextHello }));
  const both = async (connections: number) => ({
    orders: await loadOrders(connections),
    hello: await loadHello(connections),
  });
  await loadOrders(MANY, WARMING_SECONDS);
  await loadHello(MANY, WARMING_SECONDS);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [many, few] = [await both(MANY), await both(FEW)];
    const cannon = {
      orders: await fire(api.url, cannonOrders(round)),
      hello: await fire(hello.url, [{ path: '/' }]),
    };
    rounds.push({ many, few, cannon, cancel: await costOfCancels({ api, hello, redis }) });
  }
  const perSecond = median(rounds.map(({ many: { orders } }) => orders.requests / orders.seconds)) / 2;
  return { rounds, p99: await compareLatencies({ api, hello }, nextOrder, perSecond) };
}

const cannonOrders = (round: number): autocannon.Request[] =>
  Array.from({ length: WALLETS }, (_none, index) => ({
    ...{ method: 'POST', path: '/v1/orders' },
    headers: { authorization: bearerOf(walletOf(index)), 'content-type': 'application/json' },
    body: JSON.stringify({ ...tradingOrder(index), clientOrderId: `cannon-${round}-[<id>]` }),
  }));

/** Requests per second; every answer must be a 2xx. */
async function fire(url: string, requests: autocannon.Request[]): Promise<number> {
  const result = await autocannon({ url, connections: MANY, duration: 2, idReplacement: true, requests });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return result.requests.average;
}

/** 99th percentile latency of both servers at the same request rate. */
async function compareLatencies(
  { api, hello }: Pick<Processes, 'api' | 'hello'>,
  nextOrder: () => string,
  perSecond: number,
): Promise<Measured> {
  const slow: { orders: number; hello: number }[] = [];
  for (let round = 0; round < 3; round += 1) {
    const at = async (url: string, nextRequest: () => string): Promise<number> => {
      const loaded = await load(url, { connections: MANY, seconds: SECONDS, nextRequest, perSecond });
      return percentile(loaded.latenciesMs, 0.99);
    };
    slow.push({ orders: await at(api.url, nextOrder), hello: await at(hello.url, nextHello) });
  }
  return {
    ...{ name: `p99 at half of saturation (${Math.round(perSecond)}/s)`, unit: 'ms' },
    figure: median(slow.map(({ orders }) => orders)),
    reference: { name: 'hello world', figure: median(slow.map(({ hello: one }) => one)) },
    target: { relation: '<=', bound: 3, isReported: true },
  };
}

function rowsOf(rounds: readonly Round[]): Measured[] {
  const of = (amount: (round: Round) => number | undefined): number | null =>
    amount(rounds[0]!) === undefined ? null : median(rounds.map((round) => amount(round)!));
  const instructions = (amount: (round: Round) => number | undefined): { note: string } | undefined => {
    const count = of(amount);
    return count === null ? undefined : { note: `${Math.round(count)} ki` };
  };
  const hello = { name: 'hello world', figure: of(({ many }) => many.hello.micros.hello) };
  const helloFew = { name: 'hello world at 8', figure: of(({ few }) => few.hello.micros.hello) };
  const perSecond = ({ requests, seconds }: Loaded): number => requests / seconds;
  return [
    {
      ...{ name: 'api, an order, 64 connections', unit: 'µs', reference: hello },
      ...{ figure: of(({ many }) => many.orders.micros.api), target: { relation: '<=', bound: 1 } },
      ...instructions(({ many }) => many.orders.instructions.api),
    },
    {
      ...{ name: 'api, an order, 8 connections', unit: 'µs', reference: helloFew },
      ...{ figure: of(({ few }) => few.orders.micros.api), target: { relation: '<=', bound: 1.6 } },
      ...instructions(({ few }) => few.orders.instructions.api),
    },
    {
      ...{ name: 'engine Redis, an order, 64 connections', unit: 'µs', reference: hello },
      ...{ figure: of(({ many }) => many.orders.micros.redis), target: { relation: '<=', bound: 0.5 } },
      ...instructions(({ many }) => many.orders.instructions.redis),
    },
    {
      ...{ name: 'engine Redis, an order, 8 connections', unit: 'µs', reference: helloFew },
      figure: of(({ few }) => few.orders.micros.redis),
    },
    {
      ...{ name: 'api, a cancel, 64 connections', unit: 'µs', reference: hello },
      figure: of(({ cancel }) => cancel.api),
    },
    {
      ...{ name: 'engine Redis, a cancel, 64 connections', unit: 'µs', reference: hello },
      figure: of(({ cancel }) => cancel.redis),
    },
    {
      ...{ name: 'orders by the clock, autocannon', unit: '/s', figure: of(({ cannon }) => cannon.orders) },
      reference: { name: 'hello world', figure: of(({ cannon }) => cannon.hello) },
      target: { relation: '>=', bound: 0.7, isReported: true },
    },
    {
      ...{ name: 'orders by the clock, light client', unit: '/s' },
      figure: of(({ many }) => perSecond(many.orders)),
      reference: { name: 'hello world', figure: of(({ many }) => perSecond(many.hello)) },
    },
  ];
}

export async function benchHttp(): Promise<Table> {
  const exchange = await openExchange(PRESENT);
  const hello = await startHello();
  try {
    const api = await exchange.start('api');
    const { rounds, p99 } = await takeRounds({ api, hello, redis: exchange.engine }, orderRequests());
    const title = `processor time for each request; medians of ${ROUNDS} alternating rounds of ${SECONDS} s`;
    return tableOf('http', title, [...rowsOf(rounds), p99]);
  } finally {
    await hello.stop();
    await exchange.close();
  }
}
