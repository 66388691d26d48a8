/** `GET /v1/market-data/trades`, with the ticker id in the query or in the path: executions, newest first. */

import { z } from 'zod';
import { checked, type Endpoint, publicJsonText } from '../../endpoint.ts';
import { count, oneOf } from '../../fields.ts';
import { historicalTradesReply } from '../../replies/market-data.ts';
import { marketOfTicker, tickerId } from './ticker.ts';
import { checkTimeRange, timeRange } from './time-range.ts';

const HIGHEST_LIMIT = 500;

const schema = z.object({
  ticker_id: tickerId,
  type: oneOf(['all', 'buy', 'sell']).default('all').describe("the taker's side"),
  limit: count
    .default(HIGHEST_LIMIT)
    .transform((limit) => (limit === 0 ? HIGHEST_LIMIT : Math.min(limit, HIGHEST_LIMIT)))
    .meta({ default: HIGHEST_LIMIT, description: 'of both sides together; 0, and all above 500, is 500' }),
  ...timeRange(),
});

export const getHistoricalTrades: Endpoint = {
  request: schema,
  async handle({ services: { engine, marketData }, query, params }) {
    const asked = checked(schema, { ...query, ...params });
    checkTimeRange(asked);
    const { ticker_id, type, limit, start_time, end_time } = asked;
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
