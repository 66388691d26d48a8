/** `GET /v1/market-data/trades`: returns executions of a market, newest first. The ticker id is in the query or the path. */

import { historicalTradesRequest } from '../../../contract/requests.ts';
import { checked } from '../../checked.ts';
import type { Endpoint } from '../../endpoint.ts';
import { historicalTradesReply } from '../../replies/market-data.ts';
import { publicJsonText } from '../../replies/reply.ts';
import { findMarketByTicker } from './ticker.ts';
import { checkTimeRange } from './time-range.ts';

export const getHistoricalTrades: Endpoint = {
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
};
