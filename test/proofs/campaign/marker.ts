/** A market in which prices only rise: a book of it tells its age by its best bid. */

import type { Driver } from './driver.ts';
import { type Repeated, repeated } from './repeated.ts';
import type { Wallet } from './wallet.ts';

export const MARKER = 'UP/USDC';
const EVERY_MS = 300;
/** Bids that stay below the best one. */
const KEPT = 20;

export function openMarker(driver: Driver): Repeated {
  const wallet = driver.marker;
  let cents = firstCents(driver, wallet);
  return repeated(EVERY_MS, async () => {
    cents += 1;
    const order = { market: MARKER, side: 'buy', type: 'limit', price: cents / 100, size: 0.0001 } as const;
    await driver.place(wallet, { ...order, clientOrderId: `m${cents}` });
    if (wallet.resting.length > KEPT) await driver.cancel(wallet, wallet.resting.shift()!);
  });
}

/** Above each bid of an earlier run of the same campaign. */
function firstCents(driver: Driver, { index }: Wallet): number {
  let cents = 100;
  while (driver.model.orders.has(driver.model.keyOf(index, `m${cents + 1}`))) cents += 1;
  return cents;
}
