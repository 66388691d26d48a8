/** `GET /v1/market-data/trades`: returns executions of a market, newest first. The ticker id is in the query or the path. */

import { historicalTradesSchema } from '../../../contract/market-data.ts';
import { historicalTradesRequest } from '../../../contract/requests.ts';
import { checked } from '../../checked.ts';
import { historicalTradesReply } from '../../replies/market-data.ts';
import { publicJsonText } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';
import { findMarketByTicker, withTickerInPath } from './ticker.ts';
import { checkTimeRange } from './time-range.ts';

export const getHistoricalTrades = marketDataRoute({
  path: '/v1/market-data/trades',
  id: 'getHistoricalTrades',
  summary: 'Returns executions of a market, newest first',
  reply: historicalTradesSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
  request: historicalTradesRequest,
  async handle({ services: { engine, marketData }, query, params }) {
    const asked = checked(historicalTradesRequest, { ...query, ...params });
    checkTimeRange(asked);
    const { ticker_id, type, limit, start_time, end_time, after_id, before_id } = asked;
    const market = await findMarketByTicker(engine, ticker_id);
    const trades = await marketData.trades(market.symbol, {
      side: type === 'all' ? undefined : type,
      limit,
      fromSeconds: start_time,
      toSeconds: end_time,
      afterId: after_id,
      beforeId: before_id,
    });
    return publicJsonText(historicalTradesReply(market, trades));
  },
});

export const getHistoricalTradesOf = withTickerInPath(getHistoricalTrades);
