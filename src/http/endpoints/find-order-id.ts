/** Finds the order that a client order id stands for. */

import type { WalletCall } from '../route.ts';

/**
 * Postgres is asked only if the engine does not know the id. The engine drops an id some time after Postgres has it.
 * @returns null when the wallet never used the id
 */
export async function findOrderId({ services, wallet }: WalletCall, id: string): Promise<string | null> {
  const found = await services.engine.orders.find(wallet, id);
  if (found.outcome === 'claimed') return found.orderId;
  return found.outcome === 'unchecked' ? services.ledger.orders.idByClientId(wallet, id) : null;
}
