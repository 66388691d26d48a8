/**
 * Compares lists of many wallets on one api process with the same lists of an older release on its own servers.
 * Concurrent requests never ask for the same list, so none shares another's work.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { HISTORY, walletOf } from './driver-wallets.ts';
import { type Exchange, openExchange, type Running, startHello } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { costlyLoad, nextHello } from './http.ts';
import { type Loaded, load } from './load.ts';
import { type OlderRelease, PRESENT } from './older-release.ts';
import { bearerOf } from './sessions.ts';

/** The older release reads a list by one statement and as one text too, so a list must only cost no more. */
const MAX_OF_OLDER = 1.1;
const ROUNDS = 5;
const SECONDS = 1;
/** V8 compiles the code of long lists late. */
const WARMING_SECONDS = 4;
/** Fewer connections than wallets, so a wallet's next request comes after its last list is answered. */
const CONNECTIONS = 8;
const LISTS = {
  'GET /v1/orders, 100 orders of 3 fills': { path: '/v1/orders', wallets: 'takers' },
  'GET /v1/trades, 500 trades': { path: '/v1/trades?limit=500', wallets: 'makers' },
} as const;
type List = keyof typeof LISTS;

interface Release {
  readonly exchange: Exchange;
  readonly api: Running;
}

/** An exchange whose wallets have their lists in Postgres. */
async function openRelease(project: string): Promise<Release> {
  const exchange = await openExchange(project);
  try {
    await exchange.driver.trade();
    const settlement = await exchange.start('settlement');
    await untilNoLag(settlement.url);
    await settlement.stop();
    return { exchange, api: await exchange.start('api') };
  } catch (error) {
    await exchange.close();
    throw error;
  }
}

async function untilNoLag(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const text = await (await fetch(`${url}/metrics`)).text();
    if (/^redbook_settlement_lag_events 0$/m.test(text)) return;
    await sleep(100);
  }
  throw new Error('settlement does not keep up');
}

function requestsOf({ path, wallets }: (typeof LISTS)[List]): () => string {
  const requests = HISTORY[wallets].map((wallet) =>
    [`GET ${path} HTTP/1.1`, 'Host: localhost', `Authorization: ${bearerOf(walletOf(wallet))}`, '\r\n'].join(
      '\r\n',
    ),
  );
  let next = 0;
  return () => requests[next++ % requests.length]!;
}

/** @throws when a list does not have the expected length */
async function checkLists({ api }: Release): Promise<void> {
  const read = async (path: string, wallet: number): Promise<Record<string, unknown[]>> =>
    (await (
      await fetch(`${api.url}${path}`, { headers: { authorization: bearerOf(walletOf(wallet)) } })
    ).json()) as never;
  for (const wallet of HISTORY.takers) {
    const { orders } = await read('/v1/orders', wallet);
    const fills = orders?.map((order) => (order as { fills: unknown[] }).fills.length);
    if (fills?.length !== 100 || fills.some((count) => count !== 3))
      throw new Error(`orders with ${fills} fills`);
  }
  for (const wallet of HISTORY.makers) {
    const { trades } = await read('/v1/trades?limit=500', wallet);
    if (trades?.length !== 500) throw new Error(`${trades?.length} trades`);
  }
}

/** Microseconds of api processor time for each request, by the server that answers. */
async function costsInTurn<Name extends string>(
  servers: Readonly<Record<Name, { readonly api: Running; readonly nextRequest: () => string }>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(servers) as Name[];
  const costs = names.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [at, name] of names.entries()) {
      const { api, nextRequest } = servers[name];
      const seconds = round === 0 ? WARMING_SECONDS : SECONDS;
      const run = (): Promise<Loaded> => load(api.url, { connections: CONNECTIONS, seconds, nextRequest });
      costs[at]!.push((await costlyLoad({ api }, run)).micros.api);
    }
  }
  return Object.fromEntries(names.map((name, at) => [name, median(costs[at]!.slice(1))])) as Record<
    Name,
    number
  >;
}

async function rowsOf(
  list: List,
  [present, before]: readonly Release[],
  hello: Running,
  older: OlderRelease,
): Promise<Measured[]> {
  const nextRequest = requestsOf(LISTS[list]);
  const costs = await costsInTurn<string>({
    present: { api: present!.api, nextRequest },
    hello: { api: hello, nextRequest: nextHello },
    ...(before === undefined ? {} : { before: { api: before.api, nextRequest } }),
  });
  const row = { name: list, unit: 'µs', figure: costs.present! };
  return [
    {
      ...row,
      reference: { name: older.revision, figure: costs.before ?? null },
      target: { relation: '<=', bound: MAX_OF_OLDER },
      ...(older.because === undefined ? {} : { note: older.because }),
    },
    {
      ...row,
      reference: { name: 'hello world', figure: costs.hello! },
      target: { relation: '<=', bound: 4, isReported: true },
    },
  ];
}

export async function benchReads(older: OlderRelease): Promise<Table> {
  const releases: Release[] = [];
  const hello = await startHello();
  try {
    for (const project of older.folder === undefined ? [PRESENT] : [PRESENT, older.folder]) {
      const release = await openRelease(project);
      releases.push(release);
      await checkLists(release);
    }
    const rows: Measured[] = [];
    for (const list of Object.keys(LISTS) as List[])
      rows.push(...(await rowsOf(list, releases, hello, older)));
    const title = `processor time of the api for each request, ${CONNECTIONS} connections; medians of ${ROUNDS} alternating rounds`;
    return tableOf('reads', title, rows);
  } finally {
    await hello.stop();
    for (const { exchange } of releases) await exchange.close();
  }
}
