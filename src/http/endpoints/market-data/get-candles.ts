/** `GET /v1/market-data/candles`, with the ticker id in the query or in the path: candles of a market, oldest first. */

import { z } from 'zod';
import { TIMEFRAMES } from '../../../domain/candle.ts';
import { checked, type Endpoint, publicJsonText } from '../../endpoint.ts';
import { INTEGER_JSON, oneOf, queryText } from '../../fields.ts';
import { candlesReply } from '../../replies/market-data.ts';
import { marketOfTicker, tickerId } from './ticker.ts';
import { checkTimeRange, timeRange } from './time-range.ts';

const DEFAULT_LIMIT = 500;
const HIGHEST_LIMIT = 1_000;

const schema = z.object({
  ticker_id: tickerId,
  tf: oneOf(TIMEFRAMES).default('1m').describe('length of a candle; UTC, weeks begin on Monday'),
  ...timeRange(", of a candle's start"),
  limit: queryText
    .regex(/^0*([1-9]\d{0,2}|1000)$/, `must be a whole number from 1 to ${HIGHEST_LIMIT}`)
    .transform(Number)
    .default(DEFAULT_LIMIT)
    .meta({ ...INTEGER_JSON, minimum: 1, maximum: HIGHEST_LIMIT, default: DEFAULT_LIMIT }),
});

export const getCandles: Endpoint = {
  request: schema,
  async handle({ services: { engine, marketData }, query, params }) {
    const asked = checked(schema, { ...query, ...params });
    checkTimeRange(asked);
    const { ticker_id, tf, limit, start_time, end_time } = asked;
    const market = await marketOfTicker(engine, ticker_id);
    const candles = await marketData.candles(market.symbol, tf, {
      limit,
      fromMs: start_time === undefined ? undefined : start_time * 1000,
      toMs: end_time === undefined ? undefined : end_time * 1000,
    });
    return publicJsonText(candlesReply(market, tf, candles));
  },
};
