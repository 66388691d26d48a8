/** Schemas of the frames of both streams: docs/api.md 6. The snapshot worker writes these frames. */

import { z } from 'zod';
import { TIMEFRAMES } from '../domain/candle.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { MARKET_STATUSES } from '../domain/market.ts';
import { marketSchema } from './market.ts';
import { amount, marketSymbol, side } from './values.ts';

export const timeframe = z.enum(TIMEFRAMES);

const WHEN = { time: 1767605400250, sequence: 18230 };

const TICKER = {
  type: 'ticker',
  symbol: 'ETH/USDC',
  mark: 2000.5,
  index: 2000.5,
  volume24h: 12.4,
  openInterest: 0,
  change24h: -0.48,
  ...WHEN,
};

/** Members of every frame of data. */
const when = {
  time: z.int().min(0).describe("Unix milliseconds, by the engine's clock, at which the frame was built"),
  sequence: z
    .int()
    .min(0)
    .describe('the last event of the engine that the book has, or that a ticker surely has'),
};

export const snapshotFrameSchema = z
  .strictObject({ type: z.literal('snapshot'), markets: z.array(marketSchema), ...when })
  .describe('The first frame. Lists every market, as `GET /v1/markets` does.');

export const tickerFrameSchema = z
  .strictObject({
    type: z.literal('ticker'),
    symbol: marketSymbol,
    mark: amount
      .nullable()
      .describe(
        'mid price of a two-sided book, else the price of the last execution, else the only quoted side, else the ' +
          'reference price',
      ),
    index: amount.nullable().describe('reference price, else the mark price'),
    volume24h: amount.describe('base quantity of the executions of the last 24 hours'),
    openInterest: amount.describe('always 0: all markets are spot markets'),
    change24h: z
      .number()
      .describe('change in percent from the first execution of the last 24 hours to the last price'),
    ...when,
  })
  .meta({
    description: 'Price and volume of a market. A price is null if nothing determines it.',
    examples: [TICKER],
  });

export const bookLevelSchema = z.strictObject({ price: amount, size: amount });

export const bookSchema = z.strictObject({
  bids: z.array(bookLevelSchema).max(250).describe('best first'),
  asks: z.array(bookLevelSchema).max(250).describe('best first'),
});

export const executionSchema = z.strictObject({
  id: z.int().positive().describe('`trade_id` of market data'),
  price: amount,
  size: amount,
  side: side.describe('side of the taker'),
  time: z.int().min(0).describe('Unix milliseconds'),
});

export const executionsSchema = z.array(executionSchema).max(60).describe('latest executions, newest first');

export const candleSchema = z.strictObject({
  time: z.int().min(0).describe('start of the candle in Unix seconds, UTC; weeks begin on Monday'),
  open: amount,
  high: amount,
  low: amount,
  close: amount,
  volume: amount.describe(
    'base quantity; 0 in an interval without executions, whose prices are the last price',
  ),
});

export const marketFrameSchema = z
  .strictObject({
    type: z.literal('market'),
    symbol: marketSymbol,
    status: z.enum(MARKET_STATUSES).describe('that of the market record'),
    tradingEnabled: z.boolean().describe('that of the market record'),
    tf: timeframe,
    ticker: tickerFrameSchema,
    book: bookSchema,
    trades: executionsSchema,
    candle: candleSchema.nullable().describe('current candle; null if the market has never traded'),
    ...when,
  })
  .meta({
    description: 'Ticker, book, trades and candle of one market. Each frame is complete.',
    examples: [
      {
        type: 'market',
        symbol: 'ETH/USDC',
        status: 'active',
        tradingEnabled: true,
        tf: '1m',
        ticker: TICKER,
        book: { bids: [{ price: 2000, size: 0.6 }], asks: [{ price: 2001, size: 1.25 }] },
        trades: [{ id: 4503599627370507, price: 2000.5, size: 0.4, side: 'buy', time: 1767605400000 }],
        candle: { time: 1767605400, open: 2000, high: 2000.5, low: 2000, close: 2000.5, volume: 0.8 },
        ...WHEN,
      },
    ],
  });

const REFUSALS = ['VALIDATION_ERROR', 'MARKET_NOT_FOUND'] as const satisfies readonly ErrorCode[];

export const errorFrameSchema = z
  .strictObject({ type: z.literal('error'), error: z.string().min(1), code: z.enum(REFUSALS) })
  .meta({
    description: 'Reason why the stream was refused. The connection closes after this frame.',
    examples: [{ type: 'error', error: 'symbol is required, once', code: 'VALIDATION_ERROR' }],
  });
