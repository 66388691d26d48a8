/** Schemas of balances and their value: docs/api.md 2.4. */

import { z } from 'zod';
import { amount, assetSymbol, wallet } from './values.ts';

export const balanceSchema = z
  .strictObject({
    asset: assetSymbol,
    total: amount,
    reserved: amount.describe('held by resting orders: bids hold the quote asset, asks the base asset'),
    available: amount.describe('usable by new orders and withdrawals'),
    amount: amount.describe('equal to `total`'),
  })
  .meta({ examples: [{ asset: 'USDC', total: 5000, reserved: 1200, available: 3800, amount: 5000 }] });

export const portfolioSchema = z
  .strictObject({
    address: wallet,
    equity: amount.describe('value of all balances at mark prices, in the valuation asset'),
    freeCollateral: amount.describe('value of the available balances at mark prices'),
    balances: z.array(balanceSchema),
    // Position markets do not exist yet, so a position has no schema.
    positions: z.array(z.strictObject({})).max(0).describe('always empty: all markets are spot markets'),
  })
  .meta({ description: 'Balances of a wallet and their value.' });
