/** The reply of the demo's faucet to one credit of play money. */

import { z } from 'zod';
import { amount, assetSymbol } from './values.ts';

export const faucetCreditSchema = z
  .strictObject({
    asset: assetSymbol,
    amount: amount.describe('credited amount'),
    creditsLeft: z.int().min(0).describe('number of credits of this asset that the wallet can still request'),
  })
  .meta({ examples: [{ asset: 'USDC', amount: 10000, creditsLeft: 4 }] });
