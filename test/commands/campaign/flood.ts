/**
 * Orders at a steady pace in the market of the bulk, many more than clients could send by HTTP. Each pair of them is one
 * execution.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig, requireFor } from '../../../src/config.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import type { OrderRequest } from '../../../src/order/request.ts';
import { openBackends } from '../../../src/roles/backends.ts';
import { eventually } from '../../support/eventually.ts';
import { BULK, openMarket, walletOf } from './bulk.ts';
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
    ...{ leverage: null, price: parseDecimal('100')!, size: parseDecimal('0.001')! },
  };
  let serial = 0;
  let inFlight = 0;
  const placeOne = async (): Promise<void> => {
    serial += 1;
    const isSell = serial % 2 === 0;
    const wallet = walletOf(isSell ? 0 : 1);
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
  const untilRoom = async (): Promise<void> => {
    while (inFlight >= MAX_IN_FLIGHT) await sleep(1);
  };
  let isStopping = false;
  let working: Promise<number> = Promise.resolve(0);
  const work = async (perSecond: number): Promise<number> => {
    const [begunMs, before] = [performance.now(), counts.placed];
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
      for (let sent = 0; sent < count; sent += 1) {
        await untilRoom();
        void placeOne();
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
