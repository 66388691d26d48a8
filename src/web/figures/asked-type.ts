/**
 * The type of an order as its reader asked for it. The page sends a market order as a limit order that never rests, and
 * says so in the id that it gives it.
 */

import type { Order } from '../../client/index.ts';

const MARKET_ID = /^market_(\d+)_/;

const BPS = 100;

/** Returns the beginning of the id of a market order. @param slippage per cent, as the reader chose it */
export const marketIdOf = (slippage: string): string => `market_${Math.round(Number(slippage) * BPS)}_`;

export function askedType({ clientOrderId, type, timeInForce }: Order): string {
  const [, slippageBps] = MARKET_ID.exec(clientOrderId ?? '') ?? [];
  if (slippageBps !== undefined) return `market (≤ ${Number(slippageBps) / BPS} %)`;
  return timeInForce === 'GTC' ? type : `${type} ${timeInForce}`;
}
