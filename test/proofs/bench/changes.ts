/** Measures the time from the order that fills another to the answer that its maker waits for, and what waiting costs. */

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { walletOf } from './driver-wallets.ts';
import { openExchange, type Running } from './exchange.ts';
import { type Measured, type Table, tableOf } from './figures.ts';
import { PRESENT } from './older-release.ts';
import { bearerOf } from './sessions.ts';
import { measureWaiting } from './waiting-memory.ts';

const FILLS = 300;
const WARMING_FILLS = 50;
const WAITING = [1, 1_000];
/** After this time a request waits. */
const BEGINS_MS = 15;
const REFUSED_MS = 500;
const EXPECTED_MS = 5;
const MAKER = bearerOf(walletOf(0));
const TAKER = bearerOf(walletOf(1));

type Ask = (method: string, path: string, bearer: string, body?: object) => Promise<Record<string, unknown>>;

const askOf =
  ({ url }: Running, signal: AbortSignal): Ask =>
  async (method, path, authorization, body) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { method, headers, signal, ...json });
    const reply = (await response.json()) as Record<string, unknown>;
    if (!response.ok)
      throw new Error(`${method} ${path}: ${JSON.stringify(reply)}`, { cause: response.status });
    return reply;
  };

const place = (ask: Ask, bearer: string, side: 'buy' | 'sell') =>
  ask('POST', '/v1/orders', bearer, { market: 'ETH/USDC', side, type: 'limit', price: 2_000, size: 0.01 });

/** Waits for changes of a wallet that has none. A replica may refuse one of many that come at once. */
async function waitIdly(ask: Ask, bearer: string, from: unknown): Promise<void> {
  for (let cursor = from; ; ) {
    const told = await ask('GET', `/v1/orders/changes?after=${cursor}&wait=25`, bearer).catch((error) => {
      if (error.cause === 503) return undefined;
      throw error;
    });
    if (told === undefined) await sleep(REFUSED_MS);
    else cursor = told.cursor;
  }
}

/** Returns the milliseconds of a fill. */
async function fillOnce(ask: Ask): Promise<number> {
  await place(ask, MAKER, 'sell');
  const { cursor } = await ask('GET', '/v1/orders/changes', MAKER);
  let toldMs = 0;
  const waiting = ask('GET', `/v1/orders/changes?after=${cursor}&wait=25`, MAKER).then((reply) => {
    toldMs = performance.now();
    return reply;
  });
  await sleep(BEGINS_MS);
  const begunMs = performance.now();
  const [{ changes }] = await Promise.all([waiting, place(ask, TAKER, 'buy')]);
  if ((changes as unknown[]).length !== 1)
    throw new Error(`the maker was told ${JSON.stringify(changes)} after ${toldMs - begunMs} ms`);
  return toldMs - begunMs;
}

async function rowsOf(api: Running, waiting: number): Promise<Measured[]> {
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  const ask = askOf(api, end.signal);
  const idle: Promise<void>[] = [];
  while (idle.length < waiting - 1) {
    const bearer = bearerOf(`0x${idle.length.toString(16).padStart(40, 'c')}`);
    idle.push(waitIdly(ask, bearer, (await ask('GET', '/v1/orders/changes', bearer)).cursor));
  }
  // Their failures end the bench, and their end is no failure.
  const failed = Promise.all(idle).catch((error) => {
    if (!end.signal.aborted) throw error;
  });
  const times: number[] = [];
  const measure = async (): Promise<void> => {
    for (let fill = -WARMING_FILLS; fill < FILLS; fill += 1) {
      const ms = await fillOnce(ask);
      if (fill >= 0) times.push(ms);
    }
  };
  await (idle.length === 0 ? measure() : Promise.race([failed, measure()]));
  end.abort();
  await failed;
  times.sort((one, other) => one - other);
  const row = (name: string, share: number): Measured => ({
    name: `${name}, ${waiting} waiting ${waiting === 1 ? 'wallet' : 'wallets'}`,
    unit: 'ms',
    figure: times[Math.floor(times.length * share)]!,
    reference: { name: 'expected at the median', figure: EXPECTED_MS },
    target: { relation: '<=', bound: 1, isReported: true },
  });
  return [row('p50', 0.5), row('p99', 0.99)];
}

export async function benchChanges(): Promise<Table> {
  const exchange = await openExchange(PRESENT);
  try {
    await exchange.start('settlement');
    const api = await exchange.start('api');
    const rows: Measured[] = [];
    for (const waiting of WAITING) rows.push(...(await rowsOf(api, waiting)));
    await api.stop();
    rows.push(await measureWaiting(exchange));
    return tableOf('changes', `from the taking order to the answer at the maker, ${FILLS} fills`, rows);
  } finally {
    await exchange.close();
  }
}
