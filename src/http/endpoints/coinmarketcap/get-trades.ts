/** `GET /v1/coinmarketcap/trades/{pair}`: returns executions of a market, newest first. */

import { checked } from '../../../contract/checked.ts';
import { listedTradesSchema } from '../../../contract/coinmarketcap.ts';
import { listedTradesRequest } from '../../../contract/requests.ts';
import { listedTradesReply } from '../../replies/coinmarketcap.ts';
import { marketDataRoute } from '../../route.ts';
import { readTrades } from '../market-data/get-historical-trades.ts';

export const getListedTrades = marketDataRoute({
  path: '/v1/coinmarketcap/trades/:pair',
  id: 'getListedTrades',
  summary: 'Returns executions of a market, newest first, in the form of CoinMarketCap',
  reply: listedTradesSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
  request: listedTradesRequest,
  async handle({ services: { engine, marketData }, query, params }, write) {
    const { pair, ...filter } = checked(listedTradesRequest, { ...query, ...params });
    const { market, trades } = await readTrades({ engine, marketData }, pair, filter);
    return write.publicJson(listedTradesReply(market, trades));
  },
});
