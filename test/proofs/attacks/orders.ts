/** Attacks by orders, and by what orders leave behind. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Ground } from './ground.ts';
import type { Attack } from './table.ts';

/** Below every other price, so that the orders rest or meet nobody. */
const LOW = 1;
/** Above every other price, so that the asks rest until the attack meets them. */
const HIGH = 3_000;
const LONG_ID = '😀'.repeat(90);

const repeated = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_none, index) => make(index));

interface Walks {
  readonly kind: 'market' | 'FOK' | 'mix';
  readonly connections: number;
  readonly pipelined: number;
}

/** Orders that are refused after they met many makers. */
export function vainWalks(name: string, { kind, connections, pipelined }: Walks): Attack {
  const walks = {
    market: [{ side: 'buy', type: 'market', size: 1_000 }],
    FOK: [{ side: 'buy', price: HIGH, size: 1_000, timeInForce: 'FOK' }],
  };
  const mix = [
    ...walks.market,
    ...walks.FOK,
    { side: 'buy', type: 'market', quoteAmount: 1_000_000 },
    { side: 'buy', price: HIGH, size: 100, postOnly: true },
  ];
  const orders = kind === 'mix' ? mix : walks[kind];
  return {
    name,
    async begin(ground) {
      const [maker, poor, attacker] = ground.wallets(3) as [string, string, string];
      await ground.credit([maker], ground.base, '1000');
      // The quote order is refused for want of funds, as the others are for want of makers.
      await ground.credit([attacker], 'USDC', '900000');
      const asks = repeated(ground.pick(200, 3_000), () => ({
        side: 'sell',
        price: HIGH,
        size: 0.01,
      }));
      await ground.place(maker, asks);
      const wallet = kind === 'market' ? poor : attacker;
      let sent = 0;
      const next = (): string =>
        ground.text({
          method: 'POST',
          path: '/v1/orders',
          wallet,
          body: ground.order(orders[sent++ % orders.length]!),
        });
      ground.flood(ground.pick(Math.ceil(connections / 8), connections), pipelined, next);
    },
    async end(ground) {
      await ground.ask({ method: 'DELETE', path: '/v1/orders', wallet: ground.wallet(0) });
    },
  };
}

/** One taker fills an order of each of many wallets, all of which wait for it. */
export const wokenWaits: Attack = {
  name: 'an event that wakes many waits',
  async begin(ground) {
    const count = ground.pick(100, 1_000);
    const taker = ground.wallet(count);
    const wallets = ground.wallets(count);
    await ground.credit(wallets, ground.base, '1');
    await ground.credit([taker], 'USDC', '1000000');
    const size = 0.0001;
    const wait = async (wallet: string): Promise<void> => {
      const { cursor } = await ground.need({ path: '/v1/orders/changes', wallet });
      const { status, text } = await ground.ask({
        path: `/v1/orders/changes?wait=25&after=${cursor}`,
        wallet,
      });
      if (status !== 200) ground.found(`a wait that an event woke was answered ${status}: ${text}`);
    };
    const failed = (error: unknown): void => {
      if (!ground.isStopped) ground.found(`a wait failed: ${error}`);
    };
    ground.repeat(async () => {
      const waits: Promise<void>[] = [];
      // At a pace, because the event is the attack and not the requests before it.
      for (const [index, wallet] of wallets.entries()) {
        if (ground.isStopped) return;
        await ground.place(wallet, [{ side: 'sell', price: HIGH - 100, size }]);
        waits.push(wait(wallet).catch(failed));
        if (index % 10 === 0) await sleep(5);
      }
      await sleep(200);
      const sweep = { side: 'buy', price: HIGH - 100, size: count * size, timeInForce: 'IOC' };
      await ground.place(taker, [sweep]);
      await Promise.all(waits);
    });
  },
};

const today = (): string => new Date().toISOString().slice(0, 10);
const tomorrow = (): string => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
export const ofToday = (): string => `from=${today()}&to=${tomorrow()}`;

/** Makes trades of two wallets, and waits until Postgres has them. Returns the maker. */
export async function makeTrades(ground: Ground, count: number): Promise<string> {
  const [maker, taker] = ground.wallets(2) as [string, string];
  await ground.credit([maker], ground.base, '1000');
  await ground.credit([taker], 'USDC', '1000000');
  const size = 0.0001;
  for (let made = 0; made < count; made += 1_000) {
    const part = Math.min(1_000, count - made);
    const price = HIGH - 200;
    await ground.place(
      maker,
      repeated(part, () => ({ side: 'sell', price, size })),
    );
    await ground.place(taker, [{ side: 'buy', price, size: part * size, timeInForce: 'IOC' }]);
  }
  await ground.untilSettled();
  return maker;
}

/** The whole statement of a wallet with many trades today, again and again. */
export const busyStatement: Attack = {
  name: 'statements of a busy wallet',
  async begin(ground) {
    const wallet = await makeTrades(ground, ground.pick(1_000, 20_000));
    const page = async (cursor: string): Promise<string | null> => {
      const { status, text } = await ground.ask({ path: `/v1/statement?${ofToday()}${cursor}`, wallet });
      if (status === 200) return JSON.parse(text).nextCursor;
      ground.found(`a page of a statement was answered ${status}: ${text}`);
      return null;
    };
    for (let lane = 0; lane < 4; lane += 1)
      ground.repeat(async () => {
        for (let next = await page(''); next !== null && !ground.isStopped; )
          next = await page(`&cursor=${next}`);
      });
  },
};

/** Dead-man switches of wallets that have no orders, all of them due at once. */
export const idleSwitches: Attack = {
  name: 'dead-man switches of wallets without orders',
  async begin(ground) {
    const count = ground.pick(300, 10_000);
    const owner = ground.wallet(count);
    await ground.credit([owner], 'USDC', '1000');
    const set = (wallet: string, dueMs: number): Promise<Record<string, unknown>> => {
      const timeoutMs = Math.max(5_000, Math.round(dueMs - Date.now()));
      return ground.need({ method: 'POST', path: '/v1/orders/cancel-after', wallet, body: { timeoutMs } });
    };
    // Each wallet takes some 300 µs to be set, and a switch is at least five seconds long.
    const aheadMs = 5_500 + count * 0.6;
    ground.repeat(async () => {
      const dueMs = Date.now() + aheadMs;
      const order = ground.order({ side: 'buy', price: LOW, size: 0.01 });
      const { id } = await ground.need({ method: 'POST', path: '/v1/orders', wallet: owner, body: order });
      await ground.all(ground.wallets(count), (wallet) => set(wallet, dueMs));
      const { cancelAt } = await set(owner, dueMs);
      for (let isLive = true; isLive && !ground.isStopped; await sleep(100)) {
        const { status, updatedAt } = await ground.need({ path: `/v1/orders/${id}`, wallet: owner });
        isLive = status === 'resting';
        const lateMs = Date.parse(String(updatedAt)) - Date.parse(String(cancelAt));
        if (!isLive && lateMs > LATE_MS) ground.found(`a dead-man switch was ${lateMs} ms late`);
      }
    });
  },
};

/** A switch begins within a second; this leaves one more for a busy machine. */
const LATE_MS = 2_000;

async function memoryOf(redis: Redis): Promise<number> {
  const info = await redis.info('memory');
  const bytes = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return bytes('used_memory') - bytes('mem_not_counted_for_evict');
}

const limitOf = async (redis: Redis): Promise<string> =>
  ((await redis.config('GET', 'maxmemory')) as string[])[1]!;

/**
 * Memory that the attack finds, and the pause after each order batch. Processes look once a second how much is left.
 * The band from 90 % on is 200 MB of 2 GB, which takes orders half a minute to fill. Here it is some 5 MB, and takes
 * three seconds.
 */
const LEFT_BYTES = 12 * 1_048_576;
const PAUSE_MS = 50;

/** Live orders with the longest ids, in an engine that has little memory left. */
export const fullEngine: Attack = fillingServer(
  'live orders that fill the engine',
  'engineUrl',
  async (ground, redis) => {
    const wallets = ground.wallets(5);
    await ground.credit(wallets, 'USDC', '1000');
    await redis.config('SET', 'maxmemory', (await memoryOf(redis)) + LEFT_BYTES);
    const order = () => ({
      side: 'buy',
      price: LOW,
      size: 0.001,
      clientOrderId: `${LONG_ID}${ground.serial()}`,
    });
    for (const wallet of wallets)
      while (!ground.isStopped && (await ground.place(wallet, repeated(50, order))) > 0)
        await sleep(PAUSE_MS);
    ground.repeat(async () => {
      for (const wallet of wallets) await ground.place(wallet, repeated(50, order));
    }, 300);
  },
);

/** Commands of all processes in a second while a full server refuses them, with room for those of honest callers. */
const MAX_COMMANDS = 2_000;

/** A server of the queue that refuses every write. */
export const fullQueue: Attack = fillingServer('a full queue', 'queueUrl', async (ground, redis) => {
  const commands = async (): Promise<number> =>
    Number(/^total_commands_processed:(\d+)/m.exec(await redis.info('stats'))![1]);
  await redis.config('SET', 'maxmemory', 1_000_000);
  ground.repeat(async () => {
    const before = await commands();
    await sleep(1_000);
    const sent = (await commands()) - before;
    if (sent > MAX_COMMANDS) ground.found(`a full queue got ${sent} commands in a second`);
  });
});

/** An attack that fills a server, which gets its memory back at the end. */
function fillingServer(
  name: string,
  server: 'engineUrl' | 'queueUrl',
  fill: (ground: Ground, redis: Redis) => Promise<void>,
): Attack {
  let limit: string;
  return {
    name,
    isOutage: true,
    async begin(ground) {
      const redis = ground.redis(ground.stage[server]);
      limit = await limitOf(redis);
      await fill(ground, redis);
    },
    async end(ground) {
      await ground.redis(ground.stage[server]).config('SET', 'maxmemory', limit);
      for (const wallet of ground.wallets(5))
        await ground.ask({ method: 'DELETE', path: '/v1/orders', wallet });
    },
  };
}
