/**
 * `GET /v1/market-data/candles`: returns candles of a market, oldest first. The ticker id is in the query or the path.
 */

import { checked } from '../../../contract/checked.ts';
import { historicalCandlesSchema } from '../../../contract/market-data.ts';
import { candlesRequest } from '../../../contract/requests.ts';
import { candlesReply } from '../../replies/market-data.ts';
import { publicJsonText } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';
import { findMarketByTicker, withTickerInPath } from './ticker.ts';
import { checkTimeRange } from './time-range.ts';

export const getCandles = marketDataRoute({
  path: '/v1/market-data/candles',
  id: 'getCandles',
  summary: 'Returns candles of a market, oldest first',
  description:
    'Returns the newest `limit` candles of the range, with the current one. An interval without executions has no candle.',
  reply: historicalCandlesSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
  request: candlesRequest,
  async handle({ services: { engine, marketData }, query, params }) {
    const asked = checked(candlesRequest, { ...query, ...params });
    checkTimeRange(asked);
    const { ticker_id, tf, limit, pick, start_time, end_time } = asked;
    const market = await findMarketByTicker(engine, ticker_id);
    const candles = await marketData.candles(market.symbol, tf, {
      limit,
      pick,
      fromMs: start_time === undefined ? undefined : start_time * 1000,
      toMs: end_time === undefined ? undefined : end_time * 1000,
    });
    return publicJsonText(candlesReply(market, tf, candles));
  },
});

export const getCandlesOf = withTickerInPath(getCandles);
