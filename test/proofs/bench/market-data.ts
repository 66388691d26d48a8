/**
 * Compares public routes on one api process with Express' hello world, in turn and over the same 64 connections, while
 * orders are placed in the market whose book is read. Requests to both servers come from thousands of addresses, so
 * each is counted by the request limits and none is refused. Settlement does not run, because in service it would run
 * on another machine.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Side } from '../../../src/domain/order.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';
import { benchCounting } from './counting.ts';
import { type Exchange, openExchange, startHello } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { costlyLoad } from './http.ts';
import type { Costly } from './http-rows.ts';
import { load } from './load.ts';
import { marketSpec } from './market-spec.ts';
import { PRESENT } from './older-release.ts';

const ROUNDS = 5;
const SECONDS = 2;
const CONNECTIONS = 64;
/** Includes the market that every exchange of the bench has. */
const MARKETS = 50;
const LEVELS = 60;
const ORDERS_PER_SECOND = 500;
/** Addresses take turns, because none of them may send more than 300 requests a minute. */
const ADDRESSES = 65_536;
const DEEP = 10n ** 15n;
const MAKER = `0x${'a'.repeat(40)}`;
const TAKER = `0x${'c'.repeat(40)}`;

const symbolOf = (index: number): string => `M${index}/USDC`;

const place = (engine: Engine, wallet: string, symbol: string, side: Side, price: number) =>
  engine.orders.place({
    wallet,
    request: {
      market: symbol,
      side,
      type: 'limit',
      timeInForce: 'GTC',
      clientOrderId: null,
      leverage: null,
      postOnly: false,
      reduceOnly: false,
      price: parseDecimal(price.toFixed(2)),
      size: parseDecimal('0.0123'),
    },
  });

/** Creates markets with a book on both sides and one execution each. */
async function fillMarkets(engine: Engine): Promise<void> {
  for (let index = 0; index < MARKETS - 1; index += 1) {
    await engine.markets.create(marketSpec(symbolOf(index)));
  }
  const assets = ['USDC', ...Array.from({ length: MARKETS - 1 }, (_, index) => `M${index}`)];
  for (const wallet of [MAKER, TAKER]) {
    for (const asset of assets) {
      const reference = `${wallet} ${asset}`;
      await engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms: DEEP, reference });
    }
  }
  for (let index = 0; index < MARKETS - 1; index += 1) {
    for (let level = 1; level <= LEVELS; level += 1) {
      await place(engine, MAKER, symbolOf(index), 'buy', 2000 - level / 100);
      await place(engine, MAKER, symbolOf(index), 'sell', 2000 + level / 100);
    }
    await place(engine, TAKER, symbolOf(index), 'buy', 2000.01);
    await place(engine, MAKER, symbolOf(index), 'sell', 2000.01);
  }
}

/** Trades at the top of the first book until the returned function is called. */
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

/** Requests for a path, each from the next address. */
function requestsTo(path: string): () => string {
  let next = 0;
  return () => {
    const address = `10.1.${(next >> 8) & 255}.${next & 255}`;
    next = (next + 1) % ADDRESSES;
    return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${address}\r\n\r\n`;
  };
}

type Cost = Costly<'server'>;

interface Round {
  readonly hello: Cost;
  readonly book: Cost;
  readonly summary: Cost;
}

async function takeRounds(exchange: Exchange): Promise<Round[]> {
  const hello = await startHello();
  try {
    const api = await exchange.start('api', { TRUST_PROXY_HOPS: '1' });
    const [toHello, toBook, toSummary] = [
      requestsTo('/'),
      requestsTo('/v1/market-data/orderbook/M0_USDC?depth=100'),
      requestsTo('/v1/market-data/summary'),
    ] as const;
    const of = (server: typeof api, nextRequest: () => string): Promise<Cost> =>
      costlyLoad({ server }, () =>
        load(server.url, { connections: CONNECTIONS, seconds: SECONDS, nextRequest }),
      );
    const rounds: Round[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      rounds.push({
        hello: await of(hello, toHello!),
        book: await of(api, toBook!),
        summary: await of(api, toSummary!),
      });
    }
    return rounds.slice(1); // the first round warms up
  } finally {
    await hello.stop();
  }
}

function rowsOf(rounds: readonly Round[]): Measured[] {
  const of = (cost: (round: Round) => Cost): number =>
    median(rounds.map((round) => cost(round).micros.server));
  const reference = { name: 'hello world', figure: of(({ hello }) => hello) };
  const perSecond = (cost: (round: Round) => Cost): { note: string } => {
    const rate = median(rounds.map(cost).map(({ requests, seconds }) => requests / seconds));
    return { note: `${Math.round(rate).toLocaleString('en-US')}/s` };
  };
  return [
    {
      name: 'api, orderbook, depth 100',
      unit: 'µs',
      reference,
      ...perSecond(({ book }) => book),
      figure: of(({ book }) => book),
      target: { relation: '<=', bound: 1 },
    },
    {
      name: `api, summary, ${MARKETS} markets`,
      unit: 'µs',
      reference,
      figure: of(({ summary }) => summary),
      target: { relation: '<=', bound: 1.2 },
      ...perSecond(({ summary }) => summary),
    },
  ];
}

export async function benchMarketData(): Promise<Table> {
  const exchange = await openExchange(PRESENT);
  const engine = openEngine({ redis: exchange.redis, maxMakers: 1_000, maxLiveOrders: 1_000_000 });
  try {
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    await fillMarkets(engine);
    const stopWriting = write(engine);
    const rounds = await takeRounds(exchange).finally(stopWriting);
    const title = `processor time for each request while orders are placed; medians of ${ROUNDS} rounds of ${SECONDS} s`;
    return tableOf('market-data', title, [...rowsOf(rounds), ...(await benchCounting())]);
  } finally {
    await exchange.close();
  }
}
