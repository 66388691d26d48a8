/**
 * The order that is sent for a draft. It always has a price: a market order is sent as a limit order that never rests,
 * at the worst price that the book showed and some slippage, so that no fill can be worse than what was said before.
 */

import type { NewOrder } from '../../client/index.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import type { OrderAmounts } from '../../domain/placing.ts';
import { formatCount, greatest } from '../../domain/units.ts';
import type { DraftTexts } from './draft-request.ts';
import type { Walk } from './preview.ts';

/** A hundredth of a per cent is one basis point. */
export const ONE = 10_000n;

export interface OrderPlan {
  readonly priceTicks: bigint;
  readonly sizeSteps: bigint;
  readonly order: NewOrder & { readonly price: string; readonly size: string };
}

/** @returns null for a market order that would meet nothing */
export function planOrder(
  market: Market,
  texts: DraftTexts,
  amounts: OrderAmounts,
  walk: Walk,
  slippageBps: bigint,
): OrderPlan | null {
  const priceTicks = amounts.priceTicks ?? boundOf(texts.side, walk.worstTicks, slippageBps);
  const sizeSteps = amounts.sizeSteps ?? walk.steps;
  if (priceTicks === null || sizeSteps === 0n) return null;
  const { tick, step } = marketGrid(market);
  const { side, type, timeInForce, postOnly, clientOrderId } = texts;
  const order = {
    market: market.symbol,
    side,
    type: 'limit',
    postOnly,
    timeInForce: type === 'market' && timeInForce === 'GTC' ? 'IOC' : timeInForce,
    price: formatCount(priceTicks, tick),
    size: formatCount(sizeSteps, step),
    ...(clientOrderId !== '' && { clientOrderId }),
  } as const;
  return { priceTicks, sizeSteps, order };
}

/** Returns the worst price that a market order accepts: on the grid, and never beyond the slippage. */
function boundOf(side: 'buy' | 'sell', worstTicks: bigint | null, slippageBps: bigint): bigint | null {
  if (worstTicks === null) return null;
  const slip = (worstTicks * slippageBps) / ONE;
  return side === 'buy' ? worstTicks + slip : greatest(worstTicks - slip, 1n);
}
