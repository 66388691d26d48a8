/**
 * Many orders in little time or at a steady pace: placed by the engine's own scripts, past the API, in a market that
 * nobody else trades in.
 */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig, requireFor } from '../../../src/config.ts';
import { Refusal } from '../../../src/domain/errors.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';
import { bookKey } from '../../../src/engine/keys.ts';
import type { OrderRequest } from '../../../src/order/request.ts';
import { openBackends } from '../../../src/roles/backends.ts';
import { eventually } from '../../support/eventually.ts';
import { marketSpec } from '../../support/market-spec.ts';
import { openRedis } from '../../support/redis-server.ts';
import type { Cluster } from './cluster.ts';
import type { Scene } from './faults/fault.ts';

const TURN_MS = 20;
const MAX_IN_FLIGHT = 2_000;

export interface Flood {
  /** Places so many orders, as fast as the engine takes them. */
  place(count: number): Promise<void>;
  /** Places so many orders a second until `stop`. */
  begin(perSecond: number): void;
  /** @returns orders that were placed in a second since `begin` */
  stop(): Promise<number>;
  close(): Promise<void>;
  /** Reports a violation unless each order that was acknowledged is in Postgres; waits until everything is settled. */
  judge(violation: Scene['violation']): Promise<void>;
}

async function ordersIn({ sql }: Cluster): Promise<number> {
  const [row] = await sql<{ count: string }>('select count(*) from orders where market = $1', [BULK]);
  return Number(row!.count);
}

export async function openFlood(cluster: Cluster): Promise<Flood> {
  const { settings } = cluster;
  const earlier = await ordersIn(cluster);
  const config = requireFor('settlement', readConfig(settings));
  const { engine, close } = openBackends('operator', config, pino({ level: 'silent' }));
  await eventually('the engine is open', () => engine.lifecycle.isOpen());
  if ((await engine.markets.bySymbol(BULK)) === undefined) await openMarket(engine);
  const run = process.hrtime.bigint().toString(36);
  /** Orders that were acknowledged, and attempts without an answer. */
  const counts = { placed: 0, unknown: 0 };
  const usual = {
    ...({ market: BULK, type: 'limit', timeInForce: 'GTC', postOnly: false, reduceOnly: false } as const),
    leverage: null,
    price: parseDecimal('100')!,
    size: parseDecimal('0.001')!,
  };
  let serial = 0;
  let inFlight = 0;
  const placeOne = async (): Promise<void> => {
    serial += 1;
    const isSell = serial % 2 === 0;
    // Few orders of one wallet may wait, and wallets of even numbers sell.
    const wallet = walletOf(serial);
    const request: OrderRequest = {
      ...usual,
      side: isSell ? 'sell' : 'buy',
      clientOrderId: `flood ${run} ${serial}`,
    };
    inFlight += 1;
    try {
      let placed = await engine.orders.place({ wallet, request });
      // The id is new: nobody needs to look it up in Postgres.
      if (placed.outcome === 'unchecked')
        placed = await engine.orders.place({ wallet, request, checked: placed.moment });
      if (placed.outcome === 'placed') counts.placed += 1;
      else throw new Error(`an order is ${placed.outcome}`);
    } catch {
      counts.unknown += 1;
    }
    inFlight -= 1;
  };
  let isStopping = false;
  let working: Promise<number> = Promise.resolve(0);
  const work = async (perSecond: number): Promise<number> => {
    const begunMs = performance.now();
    const before = counts.placed;
    const seconds = (): number => (performance.now() - begunMs) / 1_000;
    for (let sent = 0; !isStopping; await sleep(TURN_MS)) {
      for (; sent < seconds() * perSecond && inFlight < MAX_IN_FLIGHT; sent += 1) void placeOne();
    }
    return (counts.placed - before) / seconds();
  };
  const untilAnswered = (): Promise<void> => eventually('the flood is answered', () => inFlight === 0);
  return {
    async judge(violation) {
      await cluster.untilSettled();
      const inPostgres = (await ordersIn(cluster)) - earlier;
      if (inPostgres < counts.placed || inPostgres > counts.placed + counts.unknown)
        violation(
          'acknowledged orders and cancels',
          `${counts.placed} orders of the flood were acknowledged, ${inPostgres} are in Postgres`,
        );
    },
    async place(count) {
      const before = counts.placed;
      // A busy server refuses an order that waited for a second.
      for (let sent = 0; counts.placed - before < count; ) {
        if (sent === count * MAX_TRIES) throw new Error('the engine refuses the orders of the flood');
        if (counts.placed - before + inFlight < count && inFlight < IN_FLIGHT) {
          void placeOne();
          sent += 1;
        } else await sleep(1);
      }
      await untilAnswered();
    },
    begin(perSecond) {
      isStopping = false;
      working = work(perSecond);
    },
    async stop() {
      isStopping = true;
      const perSecond = await working;
      await untilAnswered();
      return perSecond;
    },
    close,
  };
}

/** The invariants that read whole rows leave its orders to `ledger reconcile` and to those that count in SQL. */
export const BULK = 'BULK/USDC';

const WALLETS = 200;
const ATOMS_EACH = 10n ** 14n;
const IN_FLIGHT = 256;
const PRICES = 2_000;
/** Each tenth order takes what the best bid has. */
const EACH_TAKER = 10;

const walletOf = (index: number): string => `0x${(index % WALLETS).toString(16).padStart(40, 'b')}`;
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
async function openMarket(engine: Engine): Promise<void> {
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
      market: BULK,
      side: takes ? 'sell' : 'buy',
      type: 'limit',
      clientOrderId: null,
      timeInForce: takes ? 'IOC' : 'GTC',
      postOnly: false,
      reduceOnly: false,
      leverage: null,
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
