/** Holds the commands that a script calls for an order, and the bytes that it appends to the log, below bounds. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ALICE, BOB, type EngineFixture, fund, limit, openEngineFixture, publishPlain } from './fixture.ts';

const MARKET = 'BTC/USDC';
const COUNTED = 64;
const TOGETHER = 16;
/** More than a wallet of these tests has, but for one. */
const MAX_LIVE = 64;

/** Costs of one command of the engine to its Redis. */
interface Cost {
  readonly calls: number;
  readonly logBytes: number;
}

/** Commands that no script calls. */
const NOT_CALLED = /^cmdstat_(?!eval|info|config|client|hello|auth|select|ping)[^:]*:calls=(\d+)/gm;

async function read(redis: Redis): Promise<Cost> {
  const calls = [...(await redis.info('commandstats')).matchAll(NOT_CALLED)];
  const logBytes = /^aof_current_size:(\d+)/m.exec(await redis.info('persistence'))![1];
  return { calls: calls.reduce((sum, [, count]) => sum + Number(count), 0), logBytes: Number(logBytes) };
}

/** @param together number of commands in one turn of the event loop, which make one call of a script */
async function costOf(
  redis: Redis,
  together: number,
  run: (index: number) => Promise<unknown>,
): Promise<Cost> {
  const before = await read(redis);
  for (let next = 0; next < COUNTED; next += together)
    await Promise.all(Array.from({ length: together }, (_none, index) => run(next + index)));
  const after = await read(redis);
  return {
    calls: (after.calls - before.calls) / COUNTED,
    logBytes: (after.logBytes - before.logBytes) / COUNTED,
  };
}

describe('engine: costs of a command', () => {
  let fixture: EngineFixture;
  const wallets = Array.from({ length: TOGETHER }, (_none, index) => `0x${`${10 + index}`.repeat(20)}`);
  const walletOf = (index: number): string => wallets[index % TOGETHER]!;
  let ids: string[] = [];

  before(async () => {
    fixture = await openEngineFixture({ maxLiveOrders: MAX_LIVE });
    await publishPlain(fixture.engine, MARKET);
    for (const wallet of [ALICE, BOB, ...wallets])
      await fund(fixture.engine, wallet, { BTC: 10n ** 9n, USDC: 10n ** 12n });
  });
  after(() => fixture.close());

  let serial = 0;
  const placed = async (wallet: string, side: 'buy' | 'sell', price: number, size = 1): Promise<string> => {
    const clientOrderId = `costs-${(serial++).toString().padStart(14, '0')}`;
    const request = limit(MARKET, side, price, size, { clientOrderId });
    const placement = await fixture.engine.orders.place({ wallet, request });
    if (placement.outcome !== 'placed') throw new Error(placement.outcome);
    return placement.order.id;
  };
  const rest = async (index: number): Promise<void> =>
    void ids.push(await placed(walletOf(index), 'buy', 100 + (index % 50)));
  const makers = (fills: number) => async (): Promise<void> => {
    for (let fill = 0; fill < fills; fill += 1)
      await Promise.all(
        Array.from({ length: COUNTED }, (_none, index) => placed(walletOf(index), 'sell', 1_000)),
      );
  };
  const fill = (size: number) => (): Promise<string> => placed(BOB, 'buy', 1_000, size);
  const cancel = async (index: number): Promise<unknown> =>
    fixture.engine.orders.cancel(walletOf(index), ids[index]!);
  const restAtLimit = async (): Promise<void> => {
    for (let live = 0; live < MAX_LIVE; live += 1) await placed(ALICE, 'buy', 100);
  };
  const refused = async (): Promise<void> => {
    const refusal = await placed(ALICE, 'buy', 100).catch((error) => error);
    expect(refusal).to.have.property('code', 'BAD_REQUEST');
  };

  const works: readonly {
    readonly name: string;
    readonly together: number;
    readonly max: Cost;
    /** Makes the orders that the commands meet. */
    readonly prepare?: () => Promise<void>;
    readonly run: (index: number) => Promise<unknown>;
  }[] = [
    { name: 'a rest', together: 1, max: { calls: 16, logBytes: 925 }, run: rest },
    { name: 'a cancel', together: 1, max: { calls: 13, logBytes: 726 }, run: cancel },
    {
      name: 'a fill',
      together: 1,
      prepare: makers(1),
      max: { calls: 17, logBytes: 1_205 },
      run: fill(1),
    },
    {
      name: 'five fills',
      together: 1,
      prepare: makers(5),
      max: { calls: 22, logBytes: 2_684 },
      run: fill(5),
    },
    { name: 'a rest of 16 together', together: 16, max: { calls: 6.7, logBytes: 624 }, run: rest },
    { name: 'a cancel of 16 together', together: 16, max: { calls: 7.4, logBytes: 494 }, run: cancel },
    {
      name: 'a fill of 16 together',
      together: 16,
      prepare: makers(1),
      max: { calls: 8.7, logBytes: 764 },
      run: fill(1),
    },
    {
      name: 'a refusal at the limit of live orders',
      together: 1,
      prepare: restAtLimit,
      max: { calls: 7, logBytes: 0 },
      run: refused,
    },
    {
      name: 'a refusal at that limit of 16 together',
      together: 16,
      max: { calls: 2.4, logBytes: 0 },
      run: refused,
    },
  ];

  for (const { name, together, max, prepare, run } of works)
    it(`calls at most ${max.calls} commands and appends at most ${max.logBytes} bytes for ${name}`, async () => {
      await prepare?.();
      const cost = await costOf(fixture.redis, together, run);
      if (run === cancel) ids = [];
      expect(cost.calls).to.be.at.most(max.calls);
      expect(cost.logBytes).to.be.at.most(max.logBytes);
    });
});
