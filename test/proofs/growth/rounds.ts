/**
 * The orders that a growing exchange places. Each order follows from its market and its round alone, so a run that was
 * killed goes on where it ended, and the live orders after any number of rounds are known without a look at the engine.
 *
 * A round places eight orders in each market:
 *   far       rests, and is cancelled `depth` rounds later
 *   queued    rests at the price of all queued orders, two steps large
 *   draw      from round `depth` on, takes two steps off the oldest queued orders; before, it expires
 *   near      rests, three steps large
 *   take      takes two of these steps
 *   last      in every other round, takes the third step; otherwise it is a fill-or-kill order that is rejected
 *   crossing  is rejected, because it is post-only
 *   expiring  expires
 * The remainder of a near order is cancelled at the end of the step. In every other market, buying and selling are
 * exchanged.
 */

import type { Side } from '../../../src/domain/order.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import type { OrderRequest } from '../../../src/order/request.ts';

const ORDERS_A_ROUND = 8;
/** One script takes 64 orders of a market, so a step is one call for each market. */
export const ROUNDS_A_STEP = 8;
/** One of so many orders belongs to the busiest wallet of its kind. */
const BUSY_SHARE = 8;
/** Prices of far orders, in ticks of a hundredth. */
const FAR_PRICES = 500;
const FAR = 10_000;
const QUEUED = 14_000;
const NEAR = 16_000;
/** Prices of markets in which buying and selling are exchanged are this many ticks less the price. */
const MIRROR = 30_000;

export interface Shape {
  /** Decides which wallet an order belongs to. */
  readonly seed: number;
  readonly markets: number;
  /** Number of wallets whose orders rest, and of wallets that take. */
  readonly wallets: number;
  /** Rounds for which an order rests. */
  readonly depth: number;
}

export interface PlacedOrder {
  readonly wallet: string;
  /** True for an order that is cancelled, after its round or later. */
  readonly isCancelled: boolean;
  readonly request: OrderRequest & { readonly clientOrderId: string };
}

export const marketOf = (market: number): string => `M${market}/USDC`;

const walletOf = (kind: 'maker' | 'taker', index: number): string =>
  `0x${kind === 'maker' ? 'aa' : 'bb'}${index.toString(16).padStart(38, '0')}`;

/** The wallet with the longest lists. */
export const BUSY_WALLET = walletOf('maker', 0);

export const walletsOf = ({ wallets }: Shape): string[] =>
  (['maker', 'taker'] as const).flatMap((kind) =>
    Array.from({ length: wallets }, (_, index) => walletOf(kind, index)),
  );

/** Spreads numbers over 32 bits: the last step of MurmurHash3. */
function mixed(number: number): number {
  let hash = number >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

type Name = 'far' | 'queued' | 'draw' | 'near' | 'take' | 'last' | 'crossing' | 'expiring';

/** One order before its market decides on its side. */
interface Sketch {
  readonly name: Name;
  readonly side: Side;
  /** In ticks; null: a market order. */
  readonly price: number | null;
  /** In steps of a thousandth. */
  readonly size: number;
  readonly timeInForce?: OrderRequest['timeInForce'];
  readonly postOnly?: boolean;
}

/** True for rounds that leave a step of their near order. */
const keepsNear = (round: number): boolean => round % 2 === 1;

function sketches({ depth }: Shape, round: number): Sketch[] {
  // The newest near order of a step has the best price, so only orders of its round meet it.
  const near = NEAR - (round % ROUNDS_A_STEP);
  const draw: Sketch = { name: 'draw', side: 'sell', price: QUEUED, size: round === depth ? 1 : 2 };
  return [
    { name: 'far', side: 'buy', price: FAR + (round % FAR_PRICES), size: 1 },
    { name: 'queued', side: 'buy', price: QUEUED, size: 2 },
    round < depth ? { ...draw, price: 20_000, timeInForce: 'IOC' } : draw,
    { name: 'near', side: 'sell', price: near, size: 3 },
    { name: 'take', side: 'buy', price: near, size: 2 },
    keepsNear(round)
      ? { name: 'last', side: 'buy', price: 12_000, size: 1, timeInForce: 'FOK' }
      : { name: 'last', side: 'buy', price: null, size: 1, timeInForce: 'IOC' },
    { name: 'crossing', side: 'sell', price: 13_000, size: 1, postOnly: true },
    { name: 'expiring', side: 'buy', price: 12_000, size: 1, timeInForce: 'IOC' },
  ];
}

const RESTING: ReadonlySet<Name> = new Set(['far', 'queued', 'near']);

/** Number of the order among all orders of all markets, which decides its wallet and names it. */
const numberOf = ({ markets }: Shape, market: number, round: number, at: number): number =>
  (round * markets + market) * ORDERS_A_ROUND + at;

function walletFor({ seed, wallets }: Shape, name: Name, number: number): string {
  const hash = mixed(number ^ seed);
  const index = hash % BUSY_SHARE === 0 ? 0 : Math.floor(hash / BUSY_SHARE) % wallets;
  return walletOf(RESTING.has(name) ? 'maker' : 'taker', index);
}

/** Places of the orders that may be cancelled, among the orders of their round. */
const FAR_AT = 0;
const NEAR_AT = 3;

function placedOrder(shape: Shape, market: number, round: number, at: number, sketch: Sketch): PlacedOrder {
  const { name, side, price, size, timeInForce = 'GTC', postOnly = false } = sketch;
  const isMirrored = market % 2 === 1;
  const ticks = price !== null && isMirrored ? MIRROR - price : price;
  const number = numberOf(shape, market, round, at);
  return {
    wallet: walletFor(shape, name, number),
    isCancelled: at === FAR_AT || (at === NEAR_AT && keepsNear(round)),
    request: {
      market: marketOf(market),
      timeInForce,
      postOnly,
      reduceOnly: false,
      leverage: null,
      side: isMirrored === (side === 'buy') ? 'sell' : 'buy',
      type: ticks === null ? 'market' : 'limit',
      price: ticks === null ? undefined : parseDecimal((ticks / 100).toFixed(2))!,
      size: parseDecimal((size / 1_000).toFixed(3))!,
      clientOrderId: `growth-${number}`,
    },
  };
}

/** Returns the orders of a market and a round, in the order in which they are placed. */
export const ordersOf = (shape: Shape, market: number, round: number): PlacedOrder[] =>
  sketches(shape, round).map((sketch, at) => placedOrder(shape, market, round, at, sketch));

/** Returns the orders of a market that are cancelled when the round ends, each by its round and its place in it. */
export function cancelledAfter({ depth }: Shape, round: number): { round: number; at: number }[] {
  const far = round >= depth ? [{ round: round - depth, at: FAR_AT }] : [];
  return keepsNear(round) ? [...far, { round, at: NEAR_AT }] : far;
}

/** Returns the number of orders that all markets placed in so many rounds. */
export const ordersAfter = ({ markets }: Shape, rounds: number): number => rounds * markets * ORDERS_A_ROUND;

/** Live orders of one market, on the side that holds all of them, after `rounds` rounds. */
export interface LiveOrders {
  readonly side: Side;
  readonly orders: number;
  readonly levels: number;
}

export function liveAfter({ depth }: Shape, market: number, rounds: number): LiveOrders {
  const far = Math.min(rounds, depth);
  // The first draw takes one step, so half of the oldest queued order stays from then on.
  const queued = rounds > depth ? depth + 1 : rounds;
  return {
    side: market % 2 === 0 ? 'buy' : 'sell',
    orders: far + queued,
    levels: Math.min(far, FAR_PRICES) + (queued > 0 ? 1 : 0),
  };
}
