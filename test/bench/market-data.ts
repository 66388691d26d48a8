/**
 * Public routes through one api process against Express' hello world, in turn, over the same 64 connections, while
 * orders are placed in the market whose book is read. The requests to both come from thousands of addresses, so that
 * each is counted by the limits and none is refused. Settlement does not run meanwhile, as it would on another machine.
 */

import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Redis } from 'ioredis';
import type { Side } from '../../src/domain/order.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { type EmbeddedServers, startEmbedded } from '../../src/embedded/index.ts';
import { freePort } from '../../src/embedded/ports.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { benchCounting } from './counting.ts';
import { median, type Table, tableOf } from './figures.ts';
import { REDBOOK, start } from './http.ts';

const ROUNDS = 5;
const SECONDS = 4;
const CONNECTIONS = 64;
const MARKETS = 50;
const LEVELS = 60;
const ORDERS_PER_SECOND = 500;
/** Each connection goes through them in turn: an address has 64 requests in a load, of 300 a minute. */
const ADDRESSES = 4_096;
const DEEP = 10n ** 15n;
const MAKER = `0x${'a'.repeat(40)}`;
const TAKER = `0x${'b'.repeat(40)}`;

const symbolOf = (index: number): string => `M${index}/USDC`;

const place = (engine: Engine, wallet: string, symbol: string, side: Side, price: number) =>
  engine.placeOrder({
    wallet,
    request: {
      ...{ market: symbol, side, type: 'limit', timeInForce: 'GTC', clientOrderId: null, leverage: null },
      ...{ postOnly: false, reduceOnly: false },
      price: parseDecimal(price.toFixed(2)),
      size: parseDecimal('0.0123'),
    },
  });

/** Markets with a book on both sides and an execution each. */
async function fillMarkets(engine: Engine): Promise<void> {
  await engine.setAsset({ symbol: 'USDC', scale: 6 });
  const rules = { tickSize: '0.01', sizeStep: '0.0001', minOrderSize: null, maxOrderSize: null };
  for (let index = 0; index < MARKETS; index += 1) {
    await engine.createMarket({
      ...{
        ...rules,
        symbol: symbolOf(index),
        status: 'active',
        sellEnabled: true,
        visible: true,
        feeBps: 10,
      },
      ...{ selfTrade: 'expire_taker', referencePrice: null, networkId: '1' },
    });
  }
  const assets = ['USDC', ...Array.from({ length: MARKETS }, (_, index) => `M${index}`)];
  for (const wallet of [MAKER, TAKER]) {
    for (const asset of assets) {
      const reference = `${wallet} ${asset}`;
      await engine.moveFunds({ kind: 'credited', wallet, asset, amountAtoms: DEEP, reference });
    }
  }
  for (let index = 0; index < MARKETS; index += 1) {
    for (let level = 1; level <= LEVELS; level += 1) {
      await place(engine, MAKER, symbolOf(index), 'buy', 2000 - level / 100);
      await place(engine, MAKER, symbolOf(index), 'sell', 2000 + level / 100);
    }
    await place(engine, TAKER, symbolOf(index), 'buy', 2000.01);
    await place(engine, MAKER, symbolOf(index), 'sell', 2000.01);
  }
}

/** Trades at the top of the first book until it is told to stop. */
function write(engine: Engine): () => Promise<void> {
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      await place(engine, TAKER, symbolOf(0), 'buy', 2000.01);
      await place(engine, MAKER, symbolOf(0), 'sell', 2000.01);
      await sleep(2_000 / ORDERS_PER_SECOND);
    }
  })();
  return async () => {
    isOver = true;
    await writing;
  };
}

let loads = 0;

function requestsTo(path: string): autocannon.Request[] {
  loads += 1;
  return Array.from({ length: ADDRESSES }, (_, index) => ({
    path,
    headers: { 'x-forwarded-for': `10.${loads}.${index >> 8}.${index & 255}` },
  }));
}

/** Requests per second; every answer must be a 2xx. */
async function load(url: string, requests: autocannon.Request[]): Promise<number> {
  const result = await autocannon({ url, connections: CONNECTIONS, duration: SECONDS, requests });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return result.requests.average;
}

interface Round {
  readonly hello: number;
  readonly book: number;
  readonly summary: number;
}

async function compare(servers: EmbeddedServers, children: ChildProcess[]): Promise<Round[]> {
  const [apiPort, helloPort] = [await freePort(), await freePort()];
  const [api, hello] = [`http://127.0.0.1:${apiPort}`, `http://127.0.0.1:${helloPort}`];
  children.push(await start(['test/bench/hello.ts', String(helloPort)], hello));
  children.push(
    await start([...REDBOOK, 'api'], `${api}/readyz`, {
      REDIS_URL: servers.redisUrl,
      DATABASE_URL: servers.databaseUrl,
      JWT_SECRET: 'a secret of the bench, and of nothing else',
      WEB_HOSTS: 'localhost',
      TRUST_PROXY_HOPS: '1',
      PORT: String(apiPort),
      LOG_LEVEL: 'fatal',
    }),
  );
  const rounds: Round[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    rounds.push({
      hello: await load(hello, requestsTo('/')),
      book: await load(api, requestsTo('/v1/market-data/orderbook/M0_USDC?depth=100')),
      summary: await load(api, requestsTo('/v1/market-data/summary')),
    });
  }
  return rounds.slice(1); // the first warms up
}

export async function benchMarketData(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const servers = await startEmbedded({ dataDir: join(folder, 'data') });
  const redis = new Redis(servers.redisUrl);
  const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: 1_000_000 });
  const children: ChildProcess[] = [];
  try {
    await engine.open({ epoch: 0, sequence: 0 });
    await fillMarkets(engine);
    const stopWriting = write(engine);
    const rounds = await compare(servers, children).finally(stopWriting);
    const against = (figure: (round: Round) => number): number =>
      median(rounds.map((round) => figure(round) / round.hello));
    return tableOf(
      'market-data',
      `market data: medians of ${ROUNDS} rounds of ${SECONDS} s, ${CONNECTIONS} connections, while orders are placed`,
      [
        { name: 'Express hello world', figure: median(rounds.map(({ hello }) => hello)), unit: 'requests/s' },
        { name: 'orderbook, depth 100', figure: median(rounds.map(({ book }) => book)), unit: 'requests/s' },
        {
          ...{ name: 'orderbook against hello world', figure: against(({ book }) => book), unit: 'x' },
          target: { relation: '>=', bound: 0.8 },
        },
        {
          name: `summary, ${MARKETS} markets`,
          figure: median(rounds.map(({ summary }) => summary)),
          unit: 'requests/s',
        },
        {
          ...{ name: 'summary against hello world', figure: against(({ summary }) => summary), unit: 'x' },
          target: { relation: '>=', bound: 0.6 },
        },
        ...(await benchCounting()),
      ],
    );
  } finally {
    for (const child of children) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await gone;
    }
    redis.disconnect();
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
