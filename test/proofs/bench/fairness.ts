/**
 * Measures an honest wallet's orders while another wallet sends as many orders as it can that are refused after they met
 * makers: on the attacked market and on another one, beside the same orders without an attack.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { parseDecimal } from '../../../src/domain/units.ts';
import { openEngine } from '../../../src/engine/index.ts';
import { walletOf } from './driver-wallets.ts';
import { type Exchange, openExchange } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { load, percentile } from './load.ts';
import { marketSpec } from './market-spec.ts';
import { PRESENT } from './older-release.ts';
import { bearerOf } from './sessions.ts';

const ATTACKED = 'ETH/USDC';
const OTHER = 'BTC/USDC';
const MAKERS = 3_000;
const ROUNDS = 5;
const SECONDS = 3;
/** Orders of the honest wallet in a second. */
const PER_SECOND = 60;
const CONNECTIONS = 4;

const [MAKER, HONEST, FUNDED] = [walletOf(1), walletOf(2), walletOf(3)];
const UNFUNDED = `0x${'de'.repeat(20)}`;

interface Attack {
  readonly name: string;
  readonly wallet: string;
  readonly kind: string;
  readonly connections: number;
  /** Requests that each connection sends before it reads an answer. */
  readonly pipelined: number;
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'no funds, 128 connections',
    wallet: UNFUNDED,
    kind: 'market orders',
    connections: 128,
    pipelined: 1,
  },
  {
    name: 'no funds, 600 pipelined',
    wallet: UNFUNDED,
    kind: 'market orders',
    connections: 1,
    pipelined: 600,
  },
  { name: 'FOK, 128 connections', wallet: FUNDED, kind: 'FOK orders', connections: 128, pipelined: 1 },
  { name: 'a mix, 250 connections', wallet: FUNDED, kind: 'mix', connections: 250, pipelined: 1 },
];

/** Publishes the second market, and fills the book of the attacked one with small asks. */
async function prepare({ redisUrl }: Exchange): Promise<void> {
  const redis = new Redis(redisUrl);
  const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: 10_000 });
  await engine.lifecycle.open({ epoch: 0, sequence: 0 });
  await engine.assets.set({ symbol: 'BTC', scale: 8 });
  await engine.markets.create(marketSpec(OTHER));
  const [price, size] = [parseDecimal('3000')!, parseDecimal('0.01')!];
  for (let placed = 0; placed < MAKERS; placed += 100) {
    const request = {
      ...({ market: ATTACKED, side: 'sell', type: 'limit', timeInForce: 'GTC', price, size } as const),
      ...{ clientOrderId: null, postOnly: false, reduceOnly: false, leverage: null },
    };
    await Promise.all(Array.from({ length: 100 }, () => engine.orders.place({ wallet: MAKER, request })));
  }
  redis.disconnect();
}

async function begin(url: string, attack: Attack): Promise<ChildProcess> {
  const { wallet, kind, connections, pipelined } = attack;
  const args = [url, wallet, kind, `${connections}`, `${pipelined}`];
  const child = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)), args, {
    execArgv: ['--import=tsx'],
  });
  await once(child, 'message');
  await sleep(500);
  return child;
}

/** Latency of the honest wallet's orders, in milliseconds. */
interface Latency {
  readonly p50: number;
  readonly p99: number;
}

let serial = 0;

async function latencyOf(url: string, market: string): Promise<Latency> {
  const nextRequest = (): string => {
    const price = 100 + (serial++ % 500);
    const body = JSON.stringify({ market, side: 'buy', type: 'limit', price, size: 0.0001 });
    return [
      ...['POST /v1/orders HTTP/1.1', 'Host: localhost', `Authorization: ${bearerOf(HONEST)}`],
      ...['Content-Type: application/json', `Content-Length: ${body.length}`, '', body],
    ].join('\r\n');
  };
  const options = { connections: CONNECTIONS, seconds: SECONDS, nextRequest, perSecond: PER_SECOND };
  const { latenciesMs } = await load(url, options);
  return { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) };
}

/** Latency on each market. */
type Round = Readonly<Record<typeof ATTACKED | typeof OTHER, Latency>>;

const takeRound = async (url: string): Promise<Round> => ({
  [ATTACKED]: await latencyOf(url, ATTACKED),
  [OTHER]: await latencyOf(url, OTHER),
});

function rowsOf(name: string, attacked: readonly Round[], quiet: readonly Round[]): Measured[] {
  const row = (market: keyof Round, of: keyof Latency, bound: number): Measured => {
    const middle = (rounds: readonly Round[]): number => median(rounds.map((round) => round[market][of]));
    return {
      ...{ name: `${name}: ${market === OTHER ? 'another market' : 'the same market'}, ${of}`, unit: 'ms' },
      figure: middle(attacked),
      reference: { name: 'without an attack', figure: middle(quiet) },
      target: { relation: '<=', bound, isReported: true },
    };
  };
  return [row(ATTACKED, 'p50', 4), row(ATTACKED, 'p99', 4), row(OTHER, 'p50', 2), row(OTHER, 'p99', 2)];
}

export async function benchFairness(): Promise<Table> {
  const exchange = await openExchange(PRESENT);
  try {
    await prepare(exchange);
    const { url } = await exchange.start('api');
    await takeRound(url);
    const quiet: Round[] = [];
    const attacked = ATTACKS.map((): Round[] => []);
    for (let round = 0; round < ROUNDS; round += 1) {
      quiet.push(await takeRound(url));
      for (const [index, attack] of ATTACKS.entries()) {
        const child = await begin(url, attack);
        try {
          attacked[index]!.push(await takeRound(url));
        } finally {
          child.kill();
        }
      }
    }
    const rows = ATTACKS.flatMap(({ name }, index) => rowsOf(name, attacked[index]!, quiet));
    return tableOf('fairness', `orders of an honest wallet; medians of ${ROUNDS} rounds`, rows);
  } finally {
    await exchange.close();
  }
}
