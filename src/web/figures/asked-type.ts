/**
 * The type of an order as its reader asked for it. The page sends a market order as a limit order that never rests, and
 * says so in the id that it gives it.
 */

import type { Order } from '../../client/index.ts';

const MARKET_ID = /^market-(\d+(?:\.\d+)?)-/;

/** Returns the beginning of the id of a market order. @param slippage per cent, as the reader chose it */
export const marketIdOf = (slippage: string): string => `market-${slippage}-`;

export function askedType({ clientOrderId, type, timeInForce }: Order): string {
  const [, slippage] = MARKET_ID.exec(clientOrderId ?? '') ?? [];
  if (slippage !== undefined) return `market (≤ ${slippage} %)`;
  return timeInForce === 'GTC' ? type : `${type} ${timeInForce}`;
}
