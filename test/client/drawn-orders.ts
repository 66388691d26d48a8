/** Random orders of all kinds, with client order ids of all kinds. */

import type { NewOrder } from '../../src/client/index.ts';
import type { Random } from '../support/seed.ts';

const LIMIT = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '2000', size: '1' } as const;
const KINDS: readonly NewOrder[] = [
  LIMIT,
  { ...LIMIT, timeInForce: 'GTC' },
  { ...LIMIT, postOnly: true },
  { ...LIMIT, timeInForce: 'IOC' },
  { ...LIMIT, timeInForce: 'FOK' },
  { market: 'ETH/USDC', side: 'buy', type: 'market', size: '1' },
];

export type DrawnOrder = NewOrder & { readonly clientOrderId: string };

/** @param number makes the id unique, except for the two ids that cannot be in a path */
export function drawOrder(random: Random, number: number): DrawnOrder {
  const side = random.pick(['buy', 'sell'] as const);
  const clientOrderId = random.chance(0.1)
    ? random.pick(['.', '..'])
    : random.pick([`order-${number}`, `a/b?${number}#c`, `%2E${number}`, `ü ${number} 🙂`]);
  return { ...random.pick(KINDS), side, clientOrderId } as DrawnOrder;
}
