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
import {
  type CannonRound,
  type Costly,
  type HelloCost,
  type OrderCost,
  type Round,
  rowOfTails,
  rowsOf,
  rowsOfReleases,
  type Tails,
} from './http-rows.ts';
import { type Loaded, load, percentile } from './load.ts';
import { type OlderRelease, PRESENT } from './older-release.ts';
import { measureProcessors, type Spent, type Watched } from './processors.ts';

/**
 * Each launch starts new api processes, because two launches of the same code differ by up to a tenth: V8 compiles them
 * differently. Rounds are short, so that a slow spell of the machine falls on all that are compared.
 */
const LAUNCHES = 6;
const ROUNDS_OF_LAUNCH = 3;
const SECONDS = 0.7;
/** Duration of a measurement of latency, and of one by autocannon. */
const STEADY_SECONDS = 2;
const WARMING_SECONDS = 4;
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

/** The processes of one release that are measured. */
interface Processes {
  readonly api: Running;
  readonly redis: Watched;
}

interface AllProcesses extends Both<Processes> {
  readonly hello: Running;
}

const loadOrders = (
  { api, redis }: Processes,
  nextRequest: () => string,
  connections: number,
  seconds = SECONDS,
): Promise<OrderCost> =>
  costlyLoad({ api, redis }, () => load(api.url, { connections, seconds, nextRequest }));

const loadHello = (hello: Running, connections: number, seconds = SECONDS): Promise<HelloCost> =>
  costlyLoad({ hello }, () => load(hello.url, { connections, seconds, nextRequest: nextHello }));

/** One of each release; undefined if the older one cannot run here. */
interface Both<One> {
  readonly present: One;
  readonly older: One | undefined;
}

/** Does the same for both releases, one directly after the other. The release that goes first changes with `turn`. */
async function inTurn<One, Result>(
  { present, older }: Both<One>,
  turn: number,
  work: (release: One) => Promise<Result>,
): Promise<Both<Result>> {
  const doOlder = async () => older && (await work(older));
  if (turn % 2 === 0) {
    const first = await work(present);
    return { present: first, older: await doOlder() };
  }
  const first = await doOlder();
  return { present: await work(present), older: first };
}

async function takeRound(
  all: AllProcesses,
  { launch, round, nextOrder }: { launch: number; round: number; nextOrder: () => string },
): Promise<Round> {
  const hello = (connections: number) => loadHello(all.hello, connections);
  const many = await inTurn(all, round, (release) => loadOrders(release, nextOrder, MANY));
  const helloMany = await hello(MANY);
  const few = await inTurn(all, round, (release) => loadOrders(release, nextOrder, FEW));
  const helloFew = await hello(FEW);
  const cancel = await inTurn(all, round, costOfCancels);
  const { older } = all;
  return {
    launch,
    present: { many: many.present, few: few.present, cancel: cancel.present },
    older: older && { many: many.older!, few: few.older!, cancel: cancel.older! },
    hello: { many: helloMany, few: helloFew },
  };
}

async function warm({ present, older, hello }: AllProcesses, nextOrder: () => string): Promise<void> {
  for (const release of [present, older])
    if (release !== undefined) await loadOrders(release, nextOrder, MANY, WARMING_SECONDS);
  await loadHello(hello, MANY, WARMING_SECONDS);
}

const takeCannonRound = async ({ present, hello }: AllProcesses, launch: number): Promise<CannonRound> => ({
  orders: await fire(present.api.url, cannonOrders(launch)),
  hello: await fire(hello.url, [{ path: '/' }]),
});

const cannonOrders = (round: number): autocannon.Request[] =>
  Array.from({ length: WALLETS }, (_none, index) => ({
    ...{ method: 'POST', path: '/v1/orders' },
    headers: { authorization: bearerOf(walletOf(index)), 'content-type': 'application/json' },
    body: JSON.stringify({ ...tradingOrder(index), clientOrderId: `cannon-${round}-[<id>]` }),
  }));

/** Requests per second; every answer must be a 2xx. */
async function fire(url: string, requests: autocannon.Request[]): Promise<number> {
  const result = await autocannon({
    url,
    connections: MANY,
    duration: STEADY_SECONDS,
    idReplacement: true,
    requests,
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return result.requests.average;
}

async function takeTails(
  { present, hello }: AllProcesses,
  nextOrder: () => string,
  perSecond: number,
): Promise<Tails> {
  const tailOf = async (url: string, nextRequest: () => string): Promise<number> => {
    const loaded = await load(url, { connections: MANY, seconds: STEADY_SECONDS, nextRequest, perSecond });
    return percentile(loaded.latenciesMs, 0.99);
  };
  const orders = await tailOf(present.api.url, nextOrder);
  return { perSecond, orders, hello: await tailOf(hello.url, nextHello) };
}

const startApi = async (exchange: Exchange): Promise<Processes> => ({
  api: await exchange.start('api'),
  redis: exchange.engine,
});

async function measureLaunches(
  exchanges: Both<Exchange>,
  older: OlderRelease,
  hello: Running,
): Promise<Measured[]> {
  const nextOrder = orderRequests();
  const [rounds, cannon, tails]: [Round[], CannonRound[], Tails[]] = [[], [], []];
  for (let launch = 0; launch < LAUNCHES; launch += 1) {
    const all = { ...(await inTurn(exchanges, launch, startApi)), hello };
    await warm(all, nextOrder);
    for (let round = 0; round < ROUNDS_OF_LAUNCH; round += 1)
      rounds.push(await takeRound(all, { launch, round, nextOrder }));
    cannon.push(await takeCannonRound(all, launch));
    const perSecond = median(rounds.map(({ present: { many } }) => many.requests / many.seconds)) / 2;
    tails.push(await takeTails(all, nextOrder, perSecond));
    await all.present.api.stop();
    await all.older?.api.stop();
  }
  return [...rowsOf(rounds, cannon), ...rowsOfReleases(rounds, older), rowOfTails(tails)];
}

export async function benchHttp(older: OlderRelease): Promise<Table> {
  const opened: Exchange[] = [];
  const open = async (project: string): Promise<Exchange> => {
    const exchange = await openExchange(project);
    opened.push(exchange);
    return exchange;
  };
  const hello = await startHello();
  try {
    const present = await open(PRESENT);
    const before = older.folder === undefined ? undefined : await open(older.folder);
    const rows = await measureLaunches({ present, older: before }, older, hello);
    const title = `processor time for each request; medians of ${LAUNCHES} launches of ${ROUNDS_OF_LAUNCH} rounds`;
    return tableOf('http', title, rows);
  } finally {
    await hello.stop();
    for (const exchange of opened.reverse()) await exchange.close();
  }
}
