/**
 * Many orders in little time: placed by the engine's own scripts, past the API, in a market that nobody else trades in.
 */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../../src/domain/errors.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';
import { bookKey } from '../../../src/engine/keys.ts';
import { marketSpec } from '../../support/market-spec.ts';
import { openRedis } from '../../support/redis-server.ts';
import type { Cluster } from './cluster.ts';

/** The invariants that read whole rows leave its orders to `ledger reconcile` and to those that count in SQL. */
export const BULK = 'BULK/USDC';

const WALLETS = 200;
const ATOMS_EACH = 10n ** 14n;
const IN_FLIGHT = 256;
const PRICES = 2_000;
/** Each tenth order takes what the best bid has. */
const EACH_TAKER = 10;

export const walletOf = (index: number): string => `0x${(index % WALLETS).toString(16).padStart(40, 'b')}`;
const TAKER = `0x${'7a'.repeat(20)}`;

/** Places as many orders, nine tenths of which rest as bids unless a later one takes them. */
export async function placeBulk(cluster: Cluster, count: number): Promise<void> {
  const redis = openRedis(cluster.engine.url);
  const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: count + 1 });
  try {
    const [cursor] = await cluster.sql<{ epoch: string; sequence: string }>(
      'select epoch, sequence from engine_cursor',
    );
    await engine.lifecycle.open({ epoch: Number(cursor!.epoch), sequence: Number(cursor!.sequence) });
    if ((await engine.markets.bySymbol(BULK)) === undefined) await openMarket(engine);
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < count) {
        next += 1;
        await untilPlaced(engine, next);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  } finally {
    redis.disconnect();
  }
}

/** Publishes the market and funds its wallets. */
export async function openMarket(engine: Engine): Promise<void> {
  await engine.markets.create(marketSpec(BULK, { sizeStep: '0.0001' }));
  for (const wallet of [TAKER, ...Array.from({ length: WALLETS }, (_none, index) => walletOf(index))]) {
    for (const asset of ['BULK', 'USDC']) {
      const reference = `bulk ${wallet} ${asset}`;
      await engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms: ATOMS_EACH, reference });
    }
  }
}

const MAX_TRIES = 100;

/** A busy server refuses an order that waited for a second. One whose answer was lost may be placed twice. */
async function untilPlaced(engine: Engine, index: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await placeOne(engine, index);
    } catch (error) {
      if (tries === MAX_TRIES || !(error instanceof Refusal)) throw error;
      await sleep(100);
    }
  }
}

async function placeOne(engine: Engine, index: number): Promise<void> {
  const takes = index % EACH_TAKER === 0;
  const cents = takes ? 1 : 1_000 + (index % PRICES);
  const { outcome } = await engine.orders.place({
    wallet: takes ? TAKER : walletOf(index),
    request: {
      ...{ market: BULK, side: takes ? 'sell' : 'buy', type: 'limit', clientOrderId: null },
      ...{ timeInForce: takes ? 'IOC' : 'GTC', postOnly: false, reduceOnly: false, leverage: null },
      price: parseDecimal((cents / 100).toFixed(2))!,
      size: parseDecimal('0.0001')!,
    },
  });
  if (outcome !== 'placed') throw new Error(`an order of the bulk is ${outcome}`);
}

const PAGE = 5_000;

/** Number and digest of the resting orders of the bulk: identity, owner, price and remaining size of each. */
export async function bulkInBook({ redis }: Cluster): Promise<{ orders: number; digest: string }> {
  const digest = createHash('sha256');
  let orders = 0;
  for (;;) {
    const members = await redis.zrangeBuffer(bookKey(BULK, 'bids'), `${orders}`, `${orders + PAGE - 1}`);
    for (const member of members) digest.update(member);
    orders += members.length;
    if (members.length < PAGE) return { orders, digest: digest.digest('hex') };
  }
}
