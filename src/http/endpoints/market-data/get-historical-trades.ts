/** `GET /v1/market-data/trades`: returns executions of a market, newest first. The ticker id is in the query or the path. */

import type { z } from 'zod';
import { checked } from '../../../contract/checked.ts';
import { historicalTradesSchema } from '../../../contract/market-data.ts';
import { historicalTradesRequest } from '../../../contract/requests.ts';
import type { Market } from '../../../domain/market.ts';
import type { PublicTrade } from '../../../domain/order.ts';
import { historicalTradesReply } from '../../replies/market-data.ts';
import { publicJsonText } from '../../replies/reply.ts';
import { marketDataRoute } from '../../route.ts';
import type { Services } from '../../services.ts';
import { findMarketByTicker, withTickerInPath } from './ticker.ts';
import { checkTimeRange } from './time-range.ts';

/** @throws Refusal NOT_FOUND | VALIDATION_ERROR */
export async function readTrades(
  { engine, marketData }: Pick<Services, 'engine' | 'marketData'>,
  tickerId: string,
  filter: Omit<z.infer<typeof historicalTradesRequest>, 'ticker_id'>,
): Promise<{ market: Market; trades: PublicTrade[] }> {
  checkTimeRange(filter);
  const { type, limit, start_time, end_time, after_id, before_id } = filter;
  const market = await findMarketByTicker(engine, tickerId);
  const trades = await marketData.trades(market.symbol, {
    side: type === 'all' ? undefined : type,
    limit,
    fromSeconds: start_time,
    toSeconds: end_time,
    afterId: after_id,
    beforeId: before_id,
  });
  return { market, trades };
}

export const getHistoricalTrades = marketDataRoute({
  path: '/v1/market-data/trades',
  id: 'getHistoricalTrades',
  summary: 'Returns executions of a market, newest first',
  reply: historicalTradesSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
  request: historicalTradesRequest,
  async handle({ services: { engine, marketData }, query, params }) {
    const { ticker_id, ...filter } = checked(historicalTradesRequest, { ...query, ...params });
    const { market, trades } = await readTrades({ engine, marketData }, ticker_id, filter);
    return publicJsonText(historicalTradesReply(market, trades));
  },
});

export const getHistoricalTradesOf = withTickerInPath(getHistoricalTrades);
