/** One market of the live demo: makers keep quotes around the walking price, takers trade against them. */

import type { NewOrder, Order } from '../client/index.ts';
import { marketGrid } from '../domain/market-grid.ts';
import type { Side } from '../domain/order.ts';
import { countOf, parseDecimal } from '../domain/units.ts';
import {
  drawSize,
  type LiveMarket,
  levelsAround,
  openWalk,
  type PlannedLevel,
  priceText,
} from './live-market.ts';
import { random } from './random.ts';
import { DemoStopped, type RecordedOrder, type Trader } from './trader.ts';

export interface Wallets {
  readonly makers: readonly Trader[];
  readonly takers: readonly Trader[];
}

export interface Desk {
  readonly live: LiveMarket;
  /** Moves the price by one step and trades there. @throws DemoStopped */
  turn(): Promise<void>;
  /** Current price of the walk. */
  price(): string;
  /** Number of executions of the takers so far. */
  trades(): number;
}

/** Maximum orders that a maker cancels in one turn, and maximum that it places. */
export const MAX_CHANGES = 8;
/** Distance, in gaps, that a taker goes past the price. */
const REACH = 4n;
const TRADE_CHANCE = 0.8;

/** @param seed seed of the price walk, and of the wallets' choices */
export function openDesk(live: LiveMarket, { makers, takers }: Wallets, seed: number): Desk {
  const { market, gapTicks } = live;
  // The number of draws of the wallets depends on their fills. The walk draws from a generator of its own, so that its
  // seed repeats it.
  const step = openWalk(live, random(seed));
  const choices = random(~seed);
  let midTicks = live.startTicks;
  let trades = 0;
  /** Side of a taker that would meet somebody else's order at a price where a quote should stand. */
  let inTheWay: Side | undefined;

  /** Levels alternate between the makers. A level stays with its maker as long as it is quoted. */
  const isOf =
    (maker: number) =>
    ({ priceTicks }: PlannedLevel): boolean =>
      Number((priceTicks / gapTicks) % BigInt(makers.length)) === maker;

  async function quote(): Promise<void> {
    const levels = levelsAround(live, midTicks);
    const plans = await Promise.all(
      makers.map(async (maker, at) => planQuotes(live, levels.filter(isOf(at)), await maker.orders('live'))),
    );
    // All makers cancel before any of them places: a new bid may stand where the other maker's ask was.
    await Promise.all(plans.map(({ unwanted }, at) => cancelAll(makers[at]!, unwanted)));
    await Promise.all(plans.map(({ missing }, at) => placeQuotes(makers[at]!, missing)));
  }

  async function placeQuotes(maker: Trader, missing: readonly PlannedLevel[]): Promise<void> {
    for (const { side, priceTicks } of missing) {
      const size = drawSize(live, choices);
      const price = priceText(live, priceTicks);
      const order = { market: market.symbol, side, type: 'limit', price, size, postOnly: true } as const;
      const placed = await placeIfFunded(maker, order);
      if (placed?.rejectCode === 'POST_ONLY_WOULD_CROSS') inTheWay = side;
    }
  }

  async function trade(side: Side): Promise<void> {
    const taker = choices.pick(takers);
    const size = drawSize(live, choices);
    const reach = side === 'buy' ? REACH : -REACH;
    const price = priceText(live, midTicks + reach * gapTicks);
    const order = { market: market.symbol, side, type: 'limit', price, size, timeInForce: 'IOC' } as const;
    const placed = await placeIfFunded(taker, order);
    trades += placed?.order.fillCount ?? 0;
  }

  return {
    live,
    price: () => priceText(live, midTicks),
    trades: () => trades,
    async turn() {
      const beforeTicks = midTicks;
      midTicks = step();
      await quote();
      const drift = midTicks > beforeTicks ? 'buy' : 'sell';
      const side = inTheWay ?? (choices.chance(0.6) ? drift : choices.pick(['buy', 'sell'] as const));
      const isTrading = inTheWay !== undefined || choices.chance(TRADE_CHANCE);
      inTheWay = undefined;
      if (isTrading) await trade(side);
    },
  };
}

/** Plans the cancels and placements that bring a maker's orders to its levels. */
function planQuotes(
  { market }: LiveMarket,
  levels: readonly PlannedLevel[],
  orders: readonly Order[],
): { unwanted: Order[]; missing: PlannedLevel[] } {
  const { tick } = marketGrid(market);
  const keyOf = (side: Side, priceTicks: bigint | undefined): string => `${side} ${priceTicks}`;
  const wanted = new Map(levels.map((level) => [keyOf(level.side, level.priceTicks), level]));
  const unwanted = orders
    .filter((order) => order.market === market.symbol)
    // A level with an order is not missing any more; a second order at that level is one too many.
    .filter(({ side, price }) => !wanted.delete(keyOf(side, countOf(parseDecimal(price!)!, tick))));
  return { unwanted: unwanted.slice(0, MAX_CHANGES), missing: [...wanted.values()].slice(0, MAX_CHANGES) };
}

async function cancelAll(maker: Trader, orders: readonly Order[]): Promise<void> {
  for (const { id } of orders) {
    await maker.cancel(id).catch((error: unknown) => {
      // The order was filled meanwhile.
      if (!(error instanceof DemoStopped && error.code === 'ORDER_NOT_FOUND')) throw error;
    });
  }
}

/**
 * Places an order if the wallet has the funds. A wallet that has run out of an asset waits until others have traded it
 * back.
 */
async function placeIfFunded(trader: Trader, order: NewOrder): Promise<RecordedOrder | undefined> {
  try {
    return await trader.place(order);
  } catch (error) {
    if (error instanceof DemoStopped && error.code === 'INSUFFICIENT_BALANCE') return undefined;
    throw error;
  }
}
