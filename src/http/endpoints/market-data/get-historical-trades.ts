/** `GET /v1/market-data/trades`, with the ticker id in the query or in the path: executions, newest first. */

import { z } from 'zod';
import { Refusal } from '../../../domain/errors.ts';
import { checked, type Endpoint, publicJsonText } from '../../endpoint.ts';
import { count, oneOf } from '../../fields.ts';
import { historicalTradesReply } from '../../replies/market-data.ts';
import { marketOfTicker, tickerId } from './ticker.ts';

const HIGHEST_LIMIT = 500;
/** Far past any execution, and still exact in milliseconds. */
const LATEST_SECONDS = 1e11;

const unixSeconds = count.transform((seconds) => Math.min(seconds, LATEST_SECONDS)).optional();

const schema = z.object({
  ticker_id: tickerId,
  type: oneOf(['all', 'buy', 'sell']).default('all').describe("the taker's side"),
  limit: count
    .default(HIGHEST_LIMIT)
    .transform((limit) => (limit === 0 ? HIGHEST_LIMIT : Math.min(limit, HIGHEST_LIMIT)))
    .meta({ default: HIGHEST_LIMIT, description: 'of both sides together; 0, and all above 500, is 500' }),
  start_time: unixSeconds.describe('Unix seconds, inclusive'),
  end_time: unixSeconds.describe('Unix seconds, inclusive'),
});

export const getHistoricalTrades: Endpoint = {
  request: schema,
  async handle({ services: { engine, marketData }, query, params }) {
    const { ticker_id, type, limit, start_time, end_time } = checked(schema, { ...query, ...params });
    if (start_time !== undefined && end_time !== undefined && start_time > end_time) {
      throw new Refusal('VALIDATION_ERROR', 'start_time: must not be after end_time');
    }
    const market = await marketOfTicker(engine, ticker_id);
    const trades = await marketData.trades(market.symbol, {
      side: type === 'all' ? undefined : type,
      limit,
      fromSeconds: start_time,
      toSeconds: end_time,
    });
    return publicJsonText(historicalTradesReply(market, trades));
  },
};
