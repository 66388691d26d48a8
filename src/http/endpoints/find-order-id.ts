/** Finds the order that a client order id stands for. */

import { Refusal } from '../../domain/errors.ts';
import { withTimeLimit } from '../../domain/time-limit.ts';
import { secondsOf } from '../response/index.ts';
import type { WalletCall } from '../route.ts';

/** Longest time from the start of a request to the change that it asks for, which takes up to two seconds more. */
const FOUND_WITHIN_MS = 1_000;

/**
 * Postgres is asked only if the engine does not know the id. The engine drops an id some time after Postgres has it.
 * @returns null when the wallet never used the id
 */
export async function findOrderId({ services, wallet }: WalletCall, id: string): Promise<string | null> {
  const found = await services.engine.orders.find(wallet, id);
  if (found.outcome === 'claimed') return found.orderId;
  return found.outcome === 'unchecked' ? services.ledger.orders.idByClientId(wallet, id) : null;
}

/**
 * Finds the order that a request changes.
 * @throws Refusal SERVICE_UNAVAILABLE when that takes so long that the change could not be answered in time
 */
export const findOrderToChange = (call: WalletCall, id: string): Promise<string | null> =>
  withTimeLimit(FOUND_WITHIN_MS - 1_000 * secondsOf(call.clock), findOrderId(call, id), () => {
    throw new Refusal(
      'SERVICE_UNAVAILABLE',
      'the order of this client order id cannot be looked up, and nothing was done: try again',
    );
  });
