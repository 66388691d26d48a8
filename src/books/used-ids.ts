/** Reads every client order id and reference that was ever used. */

import type { UsedId } from '../engine/index.ts';
import type { Servers } from './servers.ts';

/** Yields the settled ids, in no order. */
export async function* usedIds({ ledger }: Pick<Servers, 'ledger'>): AsyncGenerator<UsedId> {
  for await (const { wallet, clientOrderId } of ledger.state.clientOrderIds())
    yield { kind: 'order', wallet, clientOrderId };
  yield* ledger.state.movementReferences();
}
