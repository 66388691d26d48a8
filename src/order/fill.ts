/** The schema of a fill in replies. */

import { z } from 'zod';
import { amount, assetSymbol, timestamp } from '../contract/values.ts';

export const orderId = z.string().min(1).describe('opaque');
export const tradeId = z.string().regex(/^\d+$/).describe('id that both sides and the public trade share');

export const execution = {
  role: z.enum(['maker', 'taker']),
  price: amount,
  size: amount,
  notional: amount.describe('price x size in the quote asset, exact'),
  feeAmount: amount.describe('fee paid by this side; 0 for a maker'),
  feeAsset: assetSymbol,
};

export const EXAMPLE_EXECUTION = {
  role: 'taker',
  price: 2000,
  size: 0.4,
  notional: 800,
  feeAmount: 0.8,
  feeAsset: 'USDC',
};

export const FILL = {
  id: '281474976710657',
  orderId: '00000000000001d4c0000000000000002a',
  ...EXAMPLE_EXECUTION,
  createdAt: '2026-01-05T09:30:00.000Z',
};

export const fillSchema = z
  .strictObject({ id: tradeId, orderId, ...execution, createdAt: timestamp })
  .meta({ description: 'One side of a trade.', examples: [FILL] });
