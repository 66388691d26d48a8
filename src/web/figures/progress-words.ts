/** The result of an order in words: `Bought 0.2 ETH at 3005 on average for 601 USDC + 0.601 fee`. */

import type { Order, WalletTrade } from '../../client/index.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { END_REASONS } from '../../domain/order.ts';
import { countOf, formatCount, formatScaled, parseDecimal, toScaled } from '../../domain/units.ts';
import { averagePrice } from './order-words.ts';

/** @param market rules of the order's market; undefined while they are not known */
export function progressOf(order: Order, market: Market | undefined): string {
  const { status, filledSize, remainingSize } = order;
  const filled = market === undefined ? null : filledWords(order, market);
  const done = filled ?? `filled ${filledSize}`;
  switch (status) {
    case 'resting':
    case 'open':
      return 'resting';
    case 'partially_filled':
      return `${done}, resting ${remainingSize}`;
    case 'filled':
      return done;
    case 'partially_filled_cancelled':
      return `${done}, dropped ${remainingSize}${order.reason === 'self_trade_prevented' ? ': an own order was in the way' : ''}`;
    case 'expired':
      return 'expired, nothing was filled';
    default:
      return statusText(order);
  }
}

/** Returns the status and, for an order that ended without being filled, the reason. */
export function statusText({ status, reason }: Pick<Order, 'status' | 'reason'>): string {
  const text = status.replaceAll('_', ' ');
  if (reason === null) return text;
  return `${text}: ${reason === 'user_cancelled' ? 'you cancelled it' : END_REASONS[reason]}`;
}

type Fills = readonly Pick<WalletTrade, 'size' | 'notional' | 'feeAmount'>[];

/** Sums of fills, exact, and their average price. */
export interface FillSums {
  readonly average: string;
  readonly notional: string;
  readonly fee: string;
}

/** Returns null where there are no fills. */
function sumsOf(side: Order['side'], fills: Fills, market: Market): FillSums | null {
  if (fills.length === 0) return null;
  const { scale } = market.quote;
  const sum = (name: 'notional' | 'feeAmount'): bigint =>
    fills.reduce((total, fill) => total + toScaled(parseDecimal(fill[name])!, scale)!, 0n);
  const notionalAtoms = sum('notional');
  const steps = stepsOf(fills, market);
  return {
    average: averagePrice(market, side, { steps, notionalAtoms }),
    notional: formatScaled(notionalAtoms, scale),
    fee: formatScaled(sum('feeAmount'), scale),
  };
}

const stepsOf = (fills: Fills, market: Market): bigint =>
  fills.reduce((sum, { size }) => sum + countOf(parseDecimal(size)!, marketGrid(market).step)!, 0n);

/** Returns null for an order without fills, and for one whose reply does not have all of them. */
export const orderSums = ({ side, fills, fillCount }: Order, market: Market): FillSums | null =>
  fills.length < fillCount ? null : sumsOf(side, fills, market);

function filledWords(order: Order, market: Market): string | null {
  return orderSums(order, market) && fillsWords(order.side, order.fills, market);
}

/** Words fills of one order: `Bought 0.2 ETH at 3005 on average for 601 USDC + 0.601 fee`. */
export function fillsWords(side: Order['side'], fills: Fills, market: Market): string | null {
  const sums = sumsOf(side, fills, market);
  if (sums === null) return null;
  const verb = side === 'buy' ? 'Bought' : 'Sold';
  const size = formatCount(stepsOf(fills, market), marketGrid(market).step);
  const fee = sums.fee === '0' ? '' : ` ${side === 'buy' ? '+' : '−'} ${sums.fee} fee`;
  return (
    `${verb} ${size} ${market.base.symbol} at ${sums.average} on average ` +
    `for ${sums.notional} ${market.quote.symbol}${fee}`
  );
}
