/**
 * Computes the amounts reserved by orders that are not loaded: the reserved balance less the share of the listed
 * orders.
 */

import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { heldAtoms, type Side } from '../../domain/order.ts';
import { countOf, formatScaled, parseDecimal, toScaled } from '../../domain/units.ts';

/** A live order as lists show it; amounts are decimal text. */
interface ShownOrder {
  readonly market: string;
  readonly side: Side;
  readonly price: string | null;
  readonly remainingSize: string;
}

interface ReservedBalance {
  readonly asset: string;
  readonly reserved: string;
}

interface UnlistedReserve {
  readonly asset: string;
  /** Plain decimal, positive. */
  readonly amount: string;
}

/** @param marketOf returns the rules of a market, undefined for an unknown one, whose orders are not counted */
export function unlistedReserves(
  balances: readonly ReservedBalance[],
  listed: readonly ShownOrder[],
  marketOf: (symbol: string) => Market | undefined,
): UnlistedReserve[] {
  const held = new Map<string, { atoms: bigint; scale: number }>();
  for (const order of listed) {
    const market = marketOf(order.market);
    if (market === undefined || order.price === null) continue;
    const { symbol, scale } = order.side === 'buy' ? market.quote : market.base;
    const { tick, step } = marketGrid(market);
    const priceTicks = countOf(parseDecimal(order.price)!, tick)!;
    const remainingSteps = countOf(parseDecimal(order.remainingSize)!, step)!;
    const atoms = heldAtoms({ side: order.side, priceTicks, remainingSteps }, market);
    held.set(symbol, { atoms: (held.get(symbol)?.atoms ?? 0n) + atoms, scale });
  }
  return balances.flatMap(({ asset, reserved }) => {
    const decimal = parseDecimal(reserved)!;
    const known = held.get(asset);
    if (known === undefined) return isZero(reserved) ? [] : [{ asset, amount: reserved }];
    const rest = toScaled(decimal, known.scale)! - known.atoms;
    return rest > 0n ? [{ asset, amount: formatScaled(rest, known.scale) }] : [];
  });
}

const isZero = (amount: string): boolean => /^[0.]*$/.test(amount);
