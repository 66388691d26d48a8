/**
 * Compares `POST /v1/orders` on one api process with Express' hello world and with the api of an older release, in turn
 * and over the same number of connections. Half of the orders rest, half are filled, and each has a client order id.
 * Each release has its own Redis and Postgres, which are real and durable. Settlement does not run, because in service
 * it would run on another machine. The targets are in processor time, because wall-clock time includes the client's and
 * Redis' share of this machine.
 */

import autocannon from 'autocannon';
import { WALLETS, walletOf } from './driver-wallets.ts';
import { bearerOf, type Exchange, openExchange, type Running, startHello } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { type Loaded, load, percentile } from './load.ts';
import { type OlderRelease, PRESENT } from './older-release.ts';
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

/** Costs of one release in one round. */
interface ReleaseRound {
  readonly many: OrderCost;
  readonly few: OrderCost;
  readonly cancel: Readonly<Record<'api' | 'redis', number>>;
}

interface Round {
  readonly present: ReleaseRound;
  /** Undefined if the older release cannot run here. */
  readonly older: ReleaseRound | undefined;
  readonly hello: { readonly many: HelloCost; readonly few: HelloCost };
  /** Requests per second, measured by autocannon. */
  readonly cannon: { readonly orders: number; readonly hello: number };
}

/** The processes of one release that are measured. */
interface Processes {
  readonly api: Running;
  readonly redis: Watched;
}

interface AllProcesses {
  readonly present: Processes;
  readonly older: Processes | undefined;
  readonly hello: Running;
}

const loadOrders = (
  { api, redis }: Processes,
  nextRequest: () => string,
  connections: number,
  seconds = SECONDS,
): Promise<OrderCost> =>
  costlyLoad({ api, redis }, () => load(api.url, { connections, seconds, nextRequest }));

async function takeReleaseRound(release: Processes, nextOrder: () => string): Promise<ReleaseRound> {
  return {
    many: await loadOrders(release, nextOrder, MANY),
    few: await loadOrders(release, nextOrder, FEW),
    cancel: await costOfCancels(release),
  };
}

/** Measures both releases of one round. The release that goes first changes from round to round. */
async function takeBothReleases(
  { present, older }: AllProcesses,
  round: number,
  nextOrder: () => string,
): Promise<Pick<Round, 'present' | 'older'>> {
  const takeOlder = async () => older && (await takeReleaseRound(older, nextOrder));
  if (round % 2 === 0) {
    const first = await takeReleaseRound(present, nextOrder);
    return { present: first, older: await takeOlder() };
  }
  const first = await takeOlder();
  return { present: await takeReleaseRound(present, nextOrder), older: first };
}

async function takeRounds(
  all: AllProcesses,
  nextOrder: () => string,
): Promise<{ rounds: Round[]; p99: Measured }> {
  const { present, older, hello } = all;
  const loadHello = (connections: number, seconds = SECONDS) =>
    costlyLoad({ hello }, () => load(hello.url, { connections, seconds, nextRequest: nextHello }));
  for (const release of [present, older])
    if (release !== undefined) await loadOrders(release, nextOrder, MANY, WARMING_SECONDS);
  await loadHello(MANY, WARMING_SECONDS);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const both = await takeBothReleases(all, round, nextOrder);
    const cannon = {
      orders: await fire(present.api.url, cannonOrders(round)),
      hello: await fire(hello.url, [{ path: '/' }]),
    };
    rounds.push({ ...both, hello: { many: await loadHello(MANY), few: await loadHello(FEW) }, cannon });
  }
  const perSecond = median(rounds.map(({ present: { many } }) => many.requests / many.seconds)) / 2;
  return { rounds, p99: await compareLatencies({ api: present.api, hello }, nextOrder, perSecond) };
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
  { api, hello }: { readonly api: Running; readonly hello: Running },
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
  const hello = { name: 'hello world', figure: of((round) => round.hello.many.micros.hello) };
  const helloFew = { name: 'hello world at 8', figure: of((round) => round.hello.few.micros.hello) };
  const perSecond = ({ requests, seconds }: Loaded): number => requests / seconds;
  return [
    {
      ...{ name: 'api, an order, 64 connections', unit: 'µs', reference: hello },
      ...{ figure: of(({ present }) => present.many.micros.api), target: { relation: '<=', bound: 1 } },
      ...instructions(({ present }) => present.many.instructions.api),
    },
    {
      ...{ name: 'api, an order, 8 connections', unit: 'µs', reference: helloFew },
      ...{ figure: of(({ present }) => present.few.micros.api), target: { relation: '<=', bound: 1.6 } },
      ...instructions(({ present }) => present.few.instructions.api),
    },
    {
      ...{ name: 'engine Redis, an order, 64 connections', unit: 'µs', reference: hello },
      ...{ figure: of(({ present }) => present.many.micros.redis), target: { relation: '<=', bound: 0.5 } },
      ...instructions(({ present }) => present.many.instructions.redis),
    },
    {
      ...{ name: 'engine Redis, an order, 8 connections', unit: 'µs', reference: helloFew },
      figure: of(({ present }) => present.few.micros.redis),
    },
    {
      ...{ name: 'api, a cancel, 64 connections', unit: 'µs', reference: hello },
      figure: of(({ present }) => present.cancel.api),
    },
    {
      ...{ name: 'engine Redis, a cancel, 64 connections', unit: 'µs', reference: hello },
      figure: of(({ present }) => present.cancel.redis),
    },
    {
      ...{ name: 'orders by the clock, autocannon', unit: '/s', figure: of(({ cannon }) => cannon.orders) },
      reference: { name: 'hello world', figure: of(({ cannon }) => cannon.hello) },
      target: { relation: '>=', bound: 0.7, isReported: true },
    },
    {
      ...{ name: 'orders by the clock, light client', unit: '/s' },
      figure: of(({ present }) => perSecond(present.many)),
      reference: { name: 'hello world', figure: of((round) => perSecond(round.hello.many)) },
    },
  ];
}

/** The costs of this release beside those of the older one. */
function rowsOfReleases(rounds: readonly Round[], { revision, because }: OlderRelease): Measured[] {
  const row = (name: string, amount: (release: ReleaseRound) => number): Measured => {
    const olders = rounds.flatMap(({ older }) => (older === undefined ? [] : [amount(older)]));
    return {
      ...{ name, unit: 'µs', figure: median(rounds.map(({ present }) => amount(present))) },
      reference: { name: revision, figure: olders.length === 0 ? null : median(olders) },
      ...(because === undefined ? {} : { note: because }),
    };
  };
  return [
    row('api, an order, 64 connections', ({ many }) => many.micros.api),
    row('api, an order, 8 connections', ({ few }) => few.micros.api),
    row('api, a cancel, 64 connections', ({ cancel }) => cancel.api),
    row('engine Redis, an order, 64 connections', ({ many }) => many.micros.redis),
  ];
}

export async function benchHttp(older: OlderRelease): Promise<Table> {
  const exchanges: Exchange[] = [];
  const open = async (project: string): Promise<Processes> => {
    const exchange = await openExchange(project);
    exchanges.push(exchange);
    return { api: await exchange.start('api'), redis: exchange.engine };
  };
  const hello = await startHello();
  try {
    const present = await open(PRESENT);
    const before = older.folder === undefined ? undefined : await open(older.folder);
    const { rounds, p99 } = await takeRounds({ present, older: before, hello }, orderRequests());
    const title = `processor time for each request; medians of ${ROUNDS} alternating rounds of ${SECONDS} s`;
    return tableOf('http', title, [...rowsOf(rounds), ...rowsOfReleases(rounds, older), p99]);
  } finally {
    await hello.stop();
    for (const exchange of exchanges.reverse()) await exchange.close();
  }
}
