/** Schema of the market record: docs/api.md 2.3. */

import { z } from 'zod';
import { MARKET_STATUSES } from '../domain/market.ts';
import { MAX_SCALE } from '../domain/market-rules.ts';
import { assetSymbol, feeBps, marketSymbol, positiveAmount } from './values.ts';

const rule = (what: string) => positiveAmount.nullable().describe(`${what}; null if not enforced`);
const scale = z.int().min(0).max(MAX_SCALE);

export const marketSchema = z
  .strictObject({
    symbol: marketSymbol,
    type: z.literal('spot'),
    status: z.enum(MARKET_STATUSES),
    tradingEnabled: z.boolean(),
    feeBps: feeBps.describe('equal to `takerFeeBps`'),
    takerFeeBps: feeBps.describe('basis points of notional, paid in the quote asset'),
    makerFeeBps: z.literal(0),
    tickSize: rule('prices are multiples of it'),
    sizeStep: rule('sizes are multiples of it'),
    priceIncrement: positiveAmount.describe(
      'prices are multiples of it, also where `tickSize` is null: finer ones would not be exact',
    ),
    sizeIncrement: positiveAmount.describe('sizes are multiples of it, also where `sizeStep` is null'),
    minOrderSize: rule('smallest size'),
    maxOrderSize: rule('largest size'),
    minNotional: rule('smallest `price` x `size` of a limit order, and smallest `quoteAmount`'),
    sellEnabled: z.boolean(),
    baseToken: assetSymbol,
    quoteToken: assetSymbol,
    baseScale: scale.describe('decimal places of the base asset'),
    quoteScale: scale.describe('decimal places of the quote asset'),
    networkId: z.string(),
  })
  .meta({
    description: 'A market and the rules that its orders must satisfy.',
    examples: [
      {
        symbol: 'ETH/USDC',
        type: 'spot',
        status: 'active',
        tradingEnabled: true,
        feeBps: 10,
        takerFeeBps: 10,
        makerFeeBps: 0,
        tickSize: 0.01,
        sizeStep: 0.0001,
        priceIncrement: 0.01,
        sizeIncrement: 0.0001,
        minOrderSize: 0.001,
        maxOrderSize: null,
        minNotional: 1,
        sellEnabled: true,
        baseToken: 'ETH',
        quoteToken: 'USDC',
        baseScale: 8,
        quoteScale: 6,
        networkId: '8453',
      },
    ],
  });

export const marketsSchema = z.strictObject({ markets: z.array(marketSchema) });
