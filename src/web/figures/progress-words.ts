/** The result of an order in words: `Bought 0.2 ETH at 3005 on average for 601 USDC + 0.601 fee`. */

import type { Order } from '../../client/index.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { countOf, formatScaled, parseDecimal, toScaled } from '../../domain/units.ts';
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
      return `${done}, dropped ${remainingSize}`;
    case 'expired':
      return 'expired, nothing was filled';
    default:
      return status;
  }
}

/** Returns null for an order without fills, and for one whose reply does not have all of them. */
function filledWords({ side, fills, fillCount, filledSize }: Order, market: Market): string | null {
  if (fills.length === 0 || fills.length < fillCount) return null;
  const { scale, symbol } = market.quote;
  const sum = (name: 'notional' | 'feeAmount'): bigint =>
    fills.reduce((total, fill) => total + toScaled(parseDecimal(fill[name])!, scale)!, 0n);
  const [notionalAtoms, feeAtoms] = [sum('notional'), sum('feeAmount')];
  const steps = countOf(parseDecimal(filledSize)!, marketGrid(market).step)!;
  const verb = side === 'buy' ? 'Bought' : 'Sold';
  const fee = feeAtoms === 0n ? '' : ` ${side === 'buy' ? '+' : '−'} ${formatScaled(feeAtoms, scale)} fee`;
  return (
    `${verb} ${filledSize} ${market.base.symbol} at ${averagePrice(market, side, { steps, notionalAtoms })} ` +
    `on average for ${formatScaled(notionalAtoms, scale)} ${symbol}${fee}`
  );
}
