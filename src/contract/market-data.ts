/** Schemas of public market data: docs/api.md 2.10. Every price and quantity is a decimal string. */

import { z } from 'zod';
import { TIMEFRAMES } from '../domain/candle.ts';
import { assetSymbol, decimalText, percentText, side, tickerId } from './values.ts';

const poolId = z
  .string()
  .regex(/^[^A-Z]+:[a-z0-9]+-[a-z0-9]+$/)
  .describe('stable id');
/** A time as text. */
const wholeNumber = z.string().regex(/^\d+$/);
const tradeUrl = z.string().min(1).meta({ format: 'uri' });
const currencies = { base_currency: assetSymbol, target_currency: assetSymbol };

export const pairSchema = z
  .strictObject({
    ticker_id: tickerId,
    ...currencies,
    pool_id: poolId,
    type: z.literal('spot'),
    status: z.literal('active'),
    trade_url: tradeUrl,
  })
  .meta({
    examples: [
      {
        ticker_id: 'ETH_USDC',
        base_currency: 'ETH',
        target_currency: 'USDC',
        pool_id: 'redbook:eth-usdc',
        type: 'spot',
        status: 'active',
        trade_url: 'https://redbook.example/trade/ETH_USDC',
      },
    ],
  });

export const pairsSchema = z.array(pairSchema);

export const executed = 'of the executions of the last 24 hours';

/** Members that all summaries of a pair have. */
export const pairFigures = {
  trading_pairs: tickerId,
  base_currency: assetSymbol,
  quote_currency: assetSymbol,
  last_price: decimalText.describe('price of the latest execution'),
  lowest_ask: decimalText.nullable(),
  highest_bid: decimalText.nullable(),
  base_volume: decimalText.describe(`base quantity ${executed}`),
  quote_volume: decimalText.describe(`sum of price x base quantity ${executed}`),
  price_change_percent_24h: percentText.describe(`last price against the first ${executed}`),
};

/** Example of a pair's figures, with the prices of its day. */
export const pairExample = {
  trading_pairs: 'ETH_USDC',
  base_currency: 'ETH',
  quote_currency: 'USDC',
  last_price: '2000.5',
  lowest_ask: '2001',
  highest_bid: '2000',
  base_volume: '12.4',
  quote_volume: '24791.3',
  price_change_percent_24h: '-0.48',
  highest_price_24h: '2014.25',
  lowest_price_24h: '1985',
};

export const summaryEntrySchema = z
  .strictObject({
    ticker_id: tickerId,
    ...pairFigures,
    highest_price_24h: decimalText.describe(`highest price ${executed}`),
    lowest_price_24h: decimalText.describe(`lowest price ${executed}`),
    type: z.literal('spot'),
    is_frozen: z.boolean().describe('true if trading is frozen'),
    isFrozen: z.enum(['0', '1']).describe('equal to `is_frozen`, for older clients'),
    trade_url: tradeUrl,
  })
  .meta({
    examples: [
      {
        ticker_id: 'ETH_USDC',
        ...pairExample,
        type: 'spot',
        is_frozen: false,
        isFrozen: '0',
        trade_url: 'https://redbook.example/trade/ETH_USDC',
      },
    ],
  });

export const summarySchema = z.record(tickerId, summaryEntrySchema).describe('keyed by ticker id');

export const tickerSchema = z
  .strictObject({
    ticker_id: tickerId,
    ...currencies,
    last_price: decimalText.describe('price of the latest execution'),
    base_volume: decimalText.describe(`base quantity ${executed}`),
    target_volume: decimalText.describe(`sum of price x base quantity ${executed}`),
    pool_id: poolId,
    bid: decimalText.nullable().describe('highest executable bid'),
    ask: decimalText.nullable().describe('lowest executable ask'),
    high: decimalText.optional().describe(`highest price ${executed}; absent without executions`),
    low: decimalText.optional().describe(`lowest price ${executed}; absent without executions`),
  })
  .meta({
    examples: [
      {
        ticker_id: 'ETH_USDC',
        base_currency: 'ETH',
        target_currency: 'USDC',
        last_price: '2000.5',
        base_volume: '12.4',
        target_volume: '24791.3',
        pool_id: 'redbook:eth-usdc',
        bid: '2000',
        ask: '2001',
        high: '2014.25',
        low: '1985',
      },
    ],
  });

export const tickersSchema = z.array(tickerSchema);

const level = z.array(decimalText).length(2).describe('`[price, base quantity]`');

export const orderBookSchema = z
  .strictObject({
    ticker_id: tickerId,
    timestamp: wholeNumber.describe('Unix milliseconds'),
    bids: z.array(level).max(250).describe('descending by price'),
    asks: z.array(level).max(250).describe('ascending by price'),
  })
  .meta({
    examples: [
      {
        ticker_id: 'ETH_USDC',
        timestamp: '1767605400000',
        bids: [
          ['2000', '0.6'],
          ['1999.5', '3'],
        ],
        asks: [['2001', '1.25']],
      },
    ],
  });

export const historicalTradeSchema = z
  .strictObject({
    trade_id: z.int().min(1).describe('rises with each execution of all markets; never reused'),
    price: decimalText,
    base_volume: decimalText,
    target_volume: decimalText.describe('price x base quantity'),
    trade_timestamp: wholeNumber.describe('Unix seconds'),
    type: side.describe('side of the taker'),
  })
  .meta({
    examples: [
      {
        trade_id: 281474976710657,
        price: '2000',
        base_volume: '0.4',
        target_volume: '800',
        trade_timestamp: '1767605400',
        type: 'buy',
      },
    ],
  });

export const historicalTradesSchema = z
  .strictObject({ buy: z.array(historicalTradeSchema), sell: z.array(historicalTradeSchema) })
  .describe('newest first');

export const historicalCandleSchema = z
  .strictObject({
    time: wholeNumber.describe('start of the candle in Unix seconds, UTC; weeks begin on Monday'),
    open: decimalText.describe('price of the first execution'),
    high: decimalText,
    low: decimalText,
    close: decimalText.describe('price of the last execution so far'),
    base_volume: decimalText.describe('base quantity'),
    target_volume: decimalText.describe('sum of price x base quantity'),
  })
  .meta({
    examples: [
      {
        time: '1767605400',
        open: '2000',
        high: '2000.5',
        low: '2000',
        close: '2000.5',
        base_volume: '0.8',
        target_volume: '1600.2',
      },
    ],
  });

export const historicalCandlesSchema = z.strictObject({
  ticker_id: tickerId,
  tf: z.enum(TIMEFRAMES),
  candles: z
    .array(historicalCandleSchema)
    .max(1_000)
    .describe('oldest first; an interval without executions has no candle'),
});
