/**
 * A process that drives the engine of one release through its public interface: `driver.ts PROJECT_FOLDER`. It receives
 * commands over the IPC channel and answers each one when all of its calls are answered. A refused call fails the
 * command.
 */

import { Redis } from 'ioredis';
import type { Asset } from '../../../src/domain/market.ts';
import type { LiveOrder } from '../../../src/domain/order.ts';
import type { Engine, EngineImage, Placement } from '../../../src/engine/index.ts';
import type { OrderRequest } from '../../../src/order/request.ts';
import { HISTORY, WALLETS, walletOf } from './driver-wallets.ts';
import { marketSpec } from './market-spec.ts';

/**
 * Pace of the calls: groups that share one turn of the event loop and are awaited, or a constant number of calls in
 * flight.
 */
export type Pace = { readonly together: number } | { readonly inFlight: number };

export type OrderKind = 'far' | 'rest' | 'maker' | 'fill' | 'five' | 'sweep' | 'mixed';

export type Command =
  /** Connects, or reconnects, and opens the engine. */
  | { readonly do: 'open'; readonly redisUrl: string }
  /** Publishes the market and credits the wallets. */
  | { readonly do: 'create' }
  /** Replaces the server's data with an engine that has `resting` bids, all of them settled. */
  | { readonly do: 'rebuild'; readonly resting: number }
  | { readonly do: 'place'; readonly kind: OrderKind; readonly calls: number; readonly pace: Pace }
  /** Cancels `calls` of the orders placed as `rest`. */
  | { readonly do: 'cancel'; readonly calls: number; readonly pace: Pace }
  /** Makes the trades that `HISTORY` describes. */
  | { readonly do: 'trade' }
  /** Drops everything that the engine drops once it is settled and old enough: events, their index, remembered ids. */
  | { readonly do: 'settle' };

export type Answer = { readonly ok: true } | { readonly ok: false; readonly error: string };

const SYMBOL = 'ETH/USDC';
const CREDIT = 10n ** 15n;
const TAKER = `0x${'7a'.repeat(20)}`;
const ID_LENGTH = Number(process.env.BENCH_ID_LENGTH ?? 36);
/** Bids of `far` and of a rebuilt engine are spread over `prices` prices from `from` upwards, in ticks. */
const FAR = { from: 10_000, prices: 2_000 };

const release = `${process.argv[2]}/src`;
const { openEngine }: typeof import('../../../src/engine/index.ts') = await import(
  `${release}/engine/index.ts`
);
const { KEYS }: typeof import('../../../src/engine/keys.ts') = await import(`${release}/engine/keys.ts`);
// Each release has its own decimal type.
const { parseDecimal }: typeof import('../../../src/domain/units.ts') = await import(
  `${release}/domain/units.ts`
);

let redis: Redis | undefined;
let engine: Engine | undefined;
let serial = 0;
/** Orders placed as `rest` and not cancelled yet. */
const cancellable: { readonly id: string; readonly wallet: string }[] = [];

const opened = (): { redis: Redis; engine: Engine } => {
  if (redis === undefined || engine === undefined) throw new Error('the engine is not open');
  return { redis, engine };
};

/** The markets of releases whose engine had no subject for assets. */
interface OlderMarkets {
  assets(): Promise<Asset[]>;
  setAsset(asset: Asset): Promise<Asset>;
}

/** Gives the engine of an older release the subject of assets that this driver uses. */
function withAssets(made: Engine): Engine {
  if ('assets' in made) return made;
  const { markets } = made as { readonly markets: unknown } as { readonly markets: OlderMarkets };
  const assets = { all: () => markets.assets(), set: (asset: Asset) => markets.setAsset(asset) };
  return Object.assign(made as Engine, { assets });
}

function engineOn(connection: Redis): Engine {
  return withAssets(openEngine({ redis: connection, maxMakers: 1_000, maxLiveOrders: 1_000_000 }));
}

async function open(redisUrl: string): Promise<void> {
  redis?.disconnect();
  redis = new Redis(redisUrl);
  engine = engineOn(redis);
  await engine.lifecycle.open({ epoch: 0, sequence: 0 });
}

async function publish(): Promise<void> {
  await opened().engine.assets.set({ symbol: 'USDC', scale: 6 });
  await opened().engine.markets.create(marketSpec(SYMBOL));
}

const accounts = [TAKER, ...Array.from({ length: WALLETS }, (_none, index) => walletOf(index))];

async function create(): Promise<void> {
  await publish();
  for (const wallet of accounts) {
    for (const asset of ['ETH', 'USDC']) {
      const reference = `${wallet} ${asset}`;
      await opened().engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms: CREDIT, reference });
    }
  }
}

/** Creates an engine in the state that `ledger rebuild` leaves: all orders settled, their ids only in the filter. */
async function rebuild(resting: number): Promise<void> {
  cancellable.length = 0;
  await opened().redis.flushall();
  await opened()
    .engine.lifecycle.confirm()
    .catch(() => undefined); // fails because its engine was replaced
  await opened().engine.lifecycle.open({ epoch: 0, sequence: 0 });
  await publish();
  const { redis, engine } = opened();
  const market = (await engine.markets.bySymbol(SYMBOL))!;
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = market;
  const units = { base: base.symbol, quote: quote.symbol, baseAtomsPerStep, quoteAtomsPerLot };
  async function* liveOrders(): AsyncGenerator<LiveOrder> {
    for (let index = 0; index < resting; index += 1) {
      const priceTicks = FAR.from + (index % FAR.prices);
      const priceKey = (BigInt(Number.MAX_SAFE_INTEGER) - BigInt(priceTicks)).toString(16).padStart(14, '0');
      const stamp = `0001${(index + 1).toString(16).padStart(12, '0')}`;
      const id = `${(market.number * 2).toString(16).padStart(4, '0')}${priceKey}${stamp}`;
      yield {
        ...{
          id,
          wallet: walletOf(index),
          market: SYMBOL,
          side: 'buy',
          priceTicks: BigInt(priceTicks),
          units,
        },
        sizeSteps: 10_000n,
        remainingSteps: 10_000n,
        sequence: index + 1,
        clientOrderId: `seed-${index}`.padEnd(ID_LENGTH, '0'),
      };
    }
  }
  const image: EngineImage = {
    cursor: { epoch: 1, sequence: resting + 1, timeMs: Date.now() },
    begunEpoch: 1,
    switches: {
      paused: false,
      termsVersion: null,
      holds: [],
      takes: new Map(),
      acceptedTerms: new Map(),
      marketVersions: new Map([[market.number, market.version]]),
      markets: [market],
    },
    assets: await engine.assets.all(),
    bookedAssets: [],
    lastPrices: new Map(),
    liveOrders,
    async *readBalances() {
      for (const account of accounts) yield { account, atoms: CREDIT };
    },
    async *usedIds() {},
    fence: async () => undefined,
  };
  await redis.flushall();
  await engineOn(redis).rebuilds.run(image);
  await engine.lifecycle.open({ epoch: 1, sequence: resting + 1 });
}

interface Shape {
  readonly wallet: string;
  readonly side: 'buy' | 'sell';
  /** In hundredths, that is, in ticks. */
  readonly price: number;
  readonly size: number;
  /** Status that the order must have; any status if absent. */
  readonly status?: string;
}

/** Bids stay below asks, so only orders that are meant to be filled match. */
const SHAPES: Readonly<Record<OrderKind, (index: number) => Shape>> = {
  far: (index) => ({
    wallet: walletOf(index),
    side: 'buy',
    size: 1,
    status: 'resting',
    price: FAR.from + (index % FAR.prices),
  }),
  rest: (index) => ({
    wallet: walletOf(index),
    side: 'buy',
    size: 1,
    status: 'resting',
    price: 12_000 + (index % 500),
  }),
  maker: (index) => ({ wallet: walletOf(index), side: 'sell', price: 20_000, size: 1, status: 'resting' }),
  fill: () => ({ wallet: TAKER, side: 'buy', price: 20_000, size: 1, status: 'filled' }),
  five: () => ({ wallet: TAKER, side: 'buy', price: 20_000, size: 5, status: 'filled' }),
  sweep: () => ({ wallet: TAKER, side: 'buy', price: 20_000, size: 100, status: 'filled' }),
  mixed: (index) => ({
    wallet: walletOf(index),
    side: index % 2 === 0 ? 'buy' : 'sell',
    price: 15_000,
    size: 1,
  }),
};

/** An id that the filter cannot rule out is sent as checked, as if Postgres had been asked for it. */
async function placeOne(shape: Shape): Promise<{ id: string; wallet: string }> {
  const clientOrderId = `drive-${(serial++).toString().padStart(ID_LENGTH - 6, '0')}`;
  const { wallet } = shape;
  const request: OrderRequest = {
    market: SYMBOL,
    side: shape.side,
    type: 'limit',
    timeInForce: 'GTC',
    clientOrderId,
    postOnly: false,
    reduceOnly: false,
    leverage: null,
    price: parseDecimal((shape.price / 100).toFixed(2))!,
    size: parseDecimal(`${shape.size}`)!,
  };
  const { engine } = opened();
  let placed: Placement = await engine.orders.place({ wallet, request });
  if (placed.outcome === 'unchecked') {
    const { moment: checked, ...older } = placed as typeof placed & { timeMs?: number };
    const vouched = { wallet, request, checked, checkedAtMs: older.timeMs };
    placed = await engine.orders.place(vouched);
  }
  if (placed.outcome !== 'placed') throw new Error(`${placed.outcome}: ${clientOrderId}`);
  const { id, status } = placed.order;
  if (shape.status !== undefined && status !== shape.status) throw new Error(`${id} is ${status}`);
  return { id, wallet };
}

/** Places the orders of one shape, in the order in which they come. */
const placeMany = (calls: number, shape: Shape): Promise<void> =>
  paced(calls, { inFlight: 64 }, () => placeOne(shape));

async function trade(): Promise<void> {
  const price = 15_000;
  for (const [pair, maker] of HISTORY.makers.entries()) {
    const taker = walletOf(HISTORY.takers[pair]!);
    await placeMany(HISTORY.makes, {
      wallet: walletOf(maker),
      side: 'sell',
      price,
      size: 1,
      status: 'resting',
    });
    await placeMany(HISTORY.takes, { wallet: taker, side: 'buy', price, size: 3, status: 'filled' });
    const others = HISTORY.makes - 3 * HISTORY.takes;
    await placeMany(others, {
      wallet: walletOf(HISTORY.rest),
      side: 'buy',
      price,
      size: 1,
      status: 'filled',
    });
  }
}

const MAX_TRIES = 100;

/** Calls again while the engine says that nothing was sent: a server under callgrind answers after more than a second. */
async function untilSent(call: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await call();
      return;
    } catch (error) {
      if (tries === MAX_TRIES || !/nothing was done/.test(String(error))) throw error;
    }
  }
}

async function paced(calls: number, pace: Pace, call: (index: number) => Promise<unknown>): Promise<void> {
  if ('together' in pace) {
    for (let next = 0; next < calls; next += pace.together) {
      const size = Math.min(pace.together, calls - next);
      await Promise.all(Array.from({ length: size }, (_none, index) => untilSent(() => call(next + index))));
    }
    return;
  }
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < calls) {
      const index = next++;
      await untilSent(() => call(index));
    }
  };
  await Promise.all(Array.from({ length: pace.inFlight }, lane));
}

async function place(kind: OrderKind, calls: number, pace: Pace): Promise<void> {
  const shapeOf = SHAPES[kind];
  await paced(calls, pace, async (index) => {
    const placed = await placeOne(shapeOf(index));
    if (kind === 'rest') cancellable.push(placed);
  });
}

async function cancel(calls: number, pace: Pace): Promise<void> {
  const orders = cancellable.splice(0, calls);
  if (orders.length < calls) throw new Error(`only ${orders.length} orders are left to cancel`);
  await paced(calls, pace, (index) =>
    opened().engine.orders.cancel(orders[index]!.wallet, orders[index]!.id),
  );
}

async function settle(): Promise<void> {
  const { redis } = opened();
  await redis.del(...KEYS.unsettled, ...KEYS.claims);
  await redis.xtrim(KEYS.events, 'MAXLEN', 1);
}

function obey(command: Command): Promise<void> {
  switch (command.do) {
    case 'open':
      return open(command.redisUrl);
    case 'create':
      return create();
    case 'rebuild':
      return rebuild(command.resting);
    case 'place':
      return place(command.kind, command.calls, command.pace);
    case 'cancel':
      return cancel(command.calls, command.pace);
    case 'trade':
      return trade();
    case 'settle':
      return settle();
  }
}

process.on('message', (command: Command) => {
  obey(command).then(
    () => process.send!({ ok: true } satisfies Answer),
    (error: unknown) => process.send!({ ok: false, error: String(error) } satisfies Answer),
  );
});
process.on('disconnect', () => process.exit());
