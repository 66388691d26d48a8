/** `GET /v1/trades`: the wallet's own trades, newest first, as maker or taker. */

import { z } from 'zod';
import { Refusal } from '../../domain/errors.ts';
import { checked, json, type WalletEndpoint } from '../endpoint.ts';
import { INTEGER_JSON, marketFilter, queryText } from '../fields.ts';
import { tradesOf } from '../order-history.ts';
import { marketsOf } from '../replies/market.ts';
import { walletTradeReply } from '../replies/order.ts';

const DEFAULT_LIMIT = 100;
const HIGHEST_LIMIT = 500;

const schema = z.object({
  market: marketFilter,
  limit: queryText
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform((digits) => Math.min(Math.max(Number(digits), 1), HIGHEST_LIMIT))
    .default(DEFAULT_LIMIT)
    .meta({
      ...INTEGER_JSON,
      default: DEFAULT_LIMIT,
      description: 'what is out of 1 to 500 counts as its end',
    }),
});

export const getTrades: WalletEndpoint = {
  request: schema,
  async handle({ services, wallet, query }) {
    const { market, limit } = checked(schema, query);
    if (market !== undefined && (await services.engine.market(market)) === undefined) {
      throw new Refusal('MARKET_NOT_FOUND');
    }
    const trades = await tradesOf(services, wallet, { limit, ...(market !== undefined && { market }) });
    const marketOf = await marketsOf(services.engine, trades);
    return json({ trades: trades.map((trade) => walletTradeReply(trade, wallet, marketOf(trade))) });
  },
};
