/**
 * Compares `POST /v1/orders` on one api process with Express' hello world and with the api of an older release, in turn
 * and over the same number of connections. Half of the orders rest, half are filled, and each has a client order id.
 * Each release has its own Redis and Postgres, which are real and durable. Settlement does not run, because in service
 * it would run on another machine. The targets are in processor time, because wall-clock time includes the client's and
 * Redis' share of this machine.
 */

import autocannon from 'autocannon';
import { WALLETS, walletOf } from './driver-wallets.ts';
import { build, type Exchange, openExchange, type Program, type Running, startHello } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import {
  type CannonRound,
  type Costly,
  type Each,
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
import { cancelOf, orderRequests, restingOrder, tradingOrder } from './order-requests.ts';
import { measureProcessors, type Spent, type Watched } from './processors.ts';
import { bearerOf } from './sessions.ts';

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

/**
 * Microseconds that a cancel costs each process. The orders are placed for this purpose and cancelled one after the
 * other.
 */
async function costOfCancels({ api, redis }: Processes): Promise<Readonly<Record<'api' | 'redis', number>>> {
  const cancels: string[] = [];
  const onAnswer = (body: string, request: string): void => void cancels.push(cancelOf(body, request));
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

interface AllProcesses extends Each<Processes> {
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

/** Does the same for each program, one directly after the other. The program that goes first changes with `turn`. */
async function inTurn<One, Result>(
  { build, sources, older }: Each<One>,
  turn: number,
  work: (program: One) => Promise<Result>,
): Promise<Each<Result>> {
  const done: Partial<Record<keyof Each<One>, Result>> = {};
  const programs = Object.entries({ build, sources, ...(older && { older }) }) as [keyof Each<One>, One][];
  for (let at = 0; at < programs.length; at += 1) {
    const [name, program] = programs[(turn + at) % programs.length]!;
    done[name] = await work(program);
  }
  return { build: done.build!, sources: done.sources!, older: done.older };
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
  return {
    launch,
    build: { many: many.build, few: few.build, cancel: cancel.build },
    sources: { many: many.sources, few: few.sources, cancel: cancel.sources },
    older: all.older && { many: many.older!, few: few.older!, cancel: cancel.older! },
    hello: { many: helloMany, few: helloFew },
  };
}

async function warm({ build, sources, older, hello }: AllProcesses, nextOrder: () => string): Promise<void> {
  for (const program of [build, sources, older])
    if (program !== undefined) await loadOrders(program, nextOrder, MANY, WARMING_SECONDS);
  await loadHello(hello, MANY, WARMING_SECONDS);
}

const takeCannonRound = async ({ build, hello }: AllProcesses, launch: number): Promise<CannonRound> => ({
  orders: await fire(build.api.url, cannonOrders(launch)),
  hello: await fire(hello.url, [{ path: '/' }]),
});

const cannonOrders = (round: number): autocannon.Request[] =>
  Array.from({ length: WALLETS }, (_none, index) => ({
    method: 'POST',
    path: '/v1/orders',
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
  { build, hello }: AllProcesses,
  nextOrder: () => string,
  perSecond: number,
): Promise<Tails> {
  const tailOf = async (url: string, nextRequest: () => string): Promise<number> => {
    const loaded = await load(url, { connections: MANY, seconds: STEADY_SECONDS, nextRequest, perSecond });
    return percentile(loaded.latenciesMs, 0.99);
  };
  const orders = await tailOf(build.api.url, nextOrder);
  return { perSecond, orders, hello: await tailOf(hello.url, nextHello) };
}

const startApi = async ({ exchange, program }: Startable): Promise<Processes> => ({
  api: await exchange.start('api', {}, program),
  redis: exchange.engine,
});

/** An exchange, and what is started on it; by default the sources of its release. */
interface Startable {
  readonly exchange: Exchange;
  readonly program?: Program;
}

async function measureLaunches(
  startable: Each<Startable>,
  older: OlderRelease,
  hello: Running,
): Promise<Measured[]> {
  const nextOrder = orderRequests();
  const rounds: Round[] = [];
  const cannon: CannonRound[] = [];
  const tails: Tails[] = [];
  for (let launch = 0; launch < LAUNCHES; launch += 1) {
    const all = { ...(await inTurn(startable, launch, startApi)), hello };
    await warm(all, nextOrder);
    for (let round = 0; round < ROUNDS_OF_LAUNCH; round += 1)
      rounds.push(await takeRound(all, { launch, round, nextOrder }));
    cannon.push(await takeCannonRound(all, launch));
    const perSecond = median(rounds.map(({ build: { many } }) => many.requests / many.seconds)) / 2;
    tails.push(await takeTails(all, nextOrder, perSecond));
    for (const program of [all.build, all.sources, all.older]) await program?.api.stop();
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
    const exchange = await open(PRESENT);
    const before = older.folder === undefined ? undefined : { exchange: await open(older.folder) };
    const startable = { build: { exchange, program: build() }, sources: { exchange }, older: before };
    const rows = await measureLaunches(startable, older, hello);
    const title = `processor time for each request; medians of ${LAUNCHES} launches of ${ROUNDS_OF_LAUNCH} rounds`;
    return tableOf('http', title, rows);
  } finally {
    await hello.stop();
    for (const exchange of opened.reverse()) await exchange.close();
  }
}
