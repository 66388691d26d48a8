/** Schemas of the listing form of CoinMarketCap: docs/api.md 4.15. Amounts are decimal strings. */

import { z } from 'zod';
import { executed, pairExample, pairFigures } from './market-data.ts';
import { assetSymbol, decimalText, side, tickerId } from './values.ts';

const unixMs = z.string().regex(/^\d+$/).describe('Unix milliseconds');
const ucid = z
  .string()
  .regex(/^\d+$/)
  .optional()
  .describe('id of the aggregator, if the operator has set it');
const flag = z.enum(['true', 'false']).optional().describe('absent unless the operator has set it');

export const listedSummarySchema = z
  .array(
    z
      .strictObject({
        ...pairFigures,
        highest_price_24h: decimalText
          .nullable()
          .describe(`highest price ${executed}; null without executions`),
        lowest_price_24h: decimalText
          .nullable()
          .describe(`lowest price ${executed}; null without executions`),
      })
      .meta({
        examples: [pairExample],
      }),
  )
  .describe('visible markets that ever traded');

export const listedAssetsSchema = z
  .record(
    assetSymbol,
    z
      .strictObject({
        name: z.string().describe('the symbol, unless the operator has set a name'),
        unified_cryptoasset_id: ucid,
        can_withdraw: flag,
        can_deposit: flag,
        min_withdraw: decimalText.optional().describe('absent unless the operator has set it'),
        maker_fee: decimalText.describe(
          'highest fee of the markets of the asset, as a fraction: 0.001 is 0.1 %',
        ),
        taker_fee: decimalText.describe('likewise'),
      })
      .meta({
        examples: [
          {
            name: 'Ethereum',
            unified_cryptoasset_id: '1027',
            can_withdraw: 'true',
            can_deposit: 'true',
            min_withdraw: '0.01',
            maker_fee: '0',
            taker_fee: '0.001',
          },
        ],
      }),
  )
  .describe('assets of the visible markets, by symbol');

export const listedTickersSchema = z
  .record(
    tickerId,
    z
      .strictObject({
        base_id: ucid,
        quote_id: ucid,
        last_price: decimalText.describe('price of the latest execution'),
        base_volume: decimalText.describe(`base quantity ${executed}`),
        quote_volume: decimalText.describe(`sum of price x base quantity ${executed}`),
        isFrozen: z.enum(['0', '1']).describe('`1` if trading is frozen'),
      })
      .meta({
        examples: [
          {
            base_id: '1027',
            quote_id: '3408',
            last_price: '2000.5',
            base_volume: '12.4',
            quote_volume: '24791.3',
            isFrozen: '0',
          },
        ],
      }),
  )
  .describe('visible markets that ever traded, by pair');

const level = z.array(decimalText).length(2).describe('`[price, base quantity]`');

export const listedBookSchema = z
  .strictObject({
    timestamp: unixMs,
    bids: z.array(level).max(250).describe('descending by price'),
    asks: z.array(level).max(250).describe('ascending by price'),
  })
  .meta({
    examples: [{ timestamp: '1767605400000', bids: [['2000', '0.6']], asks: [['2001', '1.25']] }],
  });

export const listedTradesSchema = z
  .array(
    z
      .strictObject({
        trade_id: z.int().min(1).describe('rises with each execution of all markets; never reused'),
        price: decimalText,
        base_volume: decimalText,
        quote_volume: decimalText.describe('price x base quantity'),
        timestamp: unixMs,
        type: side.describe('side of the taker'),
      })
      .meta({
        examples: [
          {
            trade_id: 281474976710657,
            price: '2000',
            base_volume: '0.4',
            quote_volume: '800',
            timestamp: '1767605400000',
            type: 'buy',
          },
        ],
      }),
  )
  .describe('newest first');
