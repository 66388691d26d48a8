/** `DELETE /v1/orders`: cancels all live orders of the wallet, or those of one market. Works while paused. */

import { z } from 'zod';
import { Refusal } from '../../domain/errors.ts';
import { checked, json, type WalletEndpoint } from '../endpoint.ts';
import { marketFilter } from '../fields.ts';
import { closedReply } from '../replies/order.ts';

/** Strict: a filter that is not understood must not be taken for none, which would cancel everything. */
const schema = z.strictObject({ market: marketFilter });

export const deleteOrders: WalletEndpoint = {
  request: schema,
  async handle({ services, wallet, query }) {
    const { market } = checked(schema, query);
    const { engine } = services;
    if (market !== undefined && (await engine.market(market)) === undefined) {
      throw new Refusal('MARKET_NOT_FOUND');
    }
    const closed = await engine.cancelAll(wallet, market ?? null);
    services.wake();
    return json({ cancelled: closed.map(closedReply), count: closed.length });
  },
};
