/** Requests and replies of the routes for finance. Amounts are decimals as text. */

import { z } from 'zod';
import { address, oneOf, queryText } from './fields.ts';
import { moment } from './requests.ts';
import { assetSymbol, decimalText, marketSymbol, timestamp, wallet } from './values.ts';

const format = oneOf(['json', 'csv']).default('json');
const asset = queryText.optional().describe('only this asset');
const ofWallet = address
  .transform((given) => given.toLowerCase())
  .optional()
  .describe('only this wallet');
const from = moment.meta({
  description: 'ISO 8601 time, inclusive; a day begins at midnight UTC',
  examples: ['2026-01-01'],
});
const to = moment.meta({ description: 'ISO 8601 time, exclusive', examples: ['2026-02-01'] });

const inOrder = <Request extends z.ZodType<{ from: number; to: number }>>(request: Request) =>
  request.refine((span) => span.from <= span.to, { path: ['to'], message: 'must not be before from' });

export const balancesRequest = z.object({
  asOf: moment.meta({
    description: 'events at this time or after it do not count',
    examples: ['2026-02-01'],
  }),
  wallet: ofWallet,
  asset,
  format,
});

const ENTRY_ID = /^\d{1,15}-\d{1,9}$/;

const DIMENSIONS = ['day', 'month', 'market', 'wallet'] as const;
type Dimension = (typeof DIMENSIONS)[number];

export const turnoverRequest = inOrder(
  z.object({
    from,
    to,
    by: queryText
      .transform((list) => list.split(','))
      .refine(
        (names): names is Dimension[] =>
          names.every((name) => (DIMENSIONS as readonly string[]).includes(name)),
        `must be a list of ${DIMENSIONS.join(', ')}`,
      )
      .refine((names) => new Set(names).size === names.length, 'must name each once')
      .meta({
        description: `what sums are split by: a list of ${DIMENSIONS.join(', ')} (the taker)`,
        examples: ['day,market'],
      }),
    format,
  }),
);

export const entriesRequest = inOrder(
  z.object({
    from,
    to,
    wallet: ofWallet,
    asset,
    after: queryText
      .regex(ENTRY_ID, 'must be an entry id like 1234-0')
      .optional()
      .describe('entry id after which the list begins; CSV has no header row then'),
    format,
  }),
);

export const movementsOfSpanRequest = inOrder(z.object({ from, to, wallet: ofWallet, asset, format }));

const signedText = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .describe('exact plain decimal');

const ofDimensions = {
  day: z.string().optional(),
  month: z.string().optional(),
  market: marketSymbol.optional(),
  wallet: wallet.optional(),
};
const trades = z.int().min(1);
const span = { from: timestamp, to: timestamp };

export const balancesSchema = z.strictObject({
  asOf: timestamp,
  settledTo: z
    .strictObject({ sequence: z.int().min(0), time: timestamp.nullable() })
    .describe('the last event that counts at all'),
  balances: z.array(
    z.strictObject({
      account: z.string().describe('a wallet, `house`, `withdrawals` (pending ones) or `custody`'),
      asset: assetSymbol,
      total: signedText,
      reserved: decimalText,
      available: signedText,
    }),
  ),
  trialBalance: z
    .array(
      z.strictObject({
        asset: assetSymbol,
        wallets: signedText,
        house: signedText,
        withdrawals: signedText,
        custody: signedText,
        sum: signedText.describe('0'),
      }),
    )
    .optional()
    .describe('sums by asset; absent if only one wallet is asked for'),
});

export const feesSchema = z.strictObject({
  ...span,
  fees: z.array(
    z.strictObject({ ...ofDimensions, asset: assetSymbol, trades, notional: decimalText, fee: decimalText }),
  ),
});

export const volumesSchema = z.strictObject({
  ...span,
  volumes: z.array(
    z.strictObject({
      ...ofDimensions,
      trades,
      baseAsset: assetSymbol,
      baseVolume: decimalText,
      quoteAsset: assetSymbol,
      quoteVolume: decimalText,
    }),
  ),
});

export const movementsOfSpanSchema = z.strictObject({
  ...span,
  movements: z
    .array(
      z.strictObject({
        time: timestamp,
        kind: z.string(),
        wallet,
        asset: assetSymbol,
        amount: decimalText,
        reference: z.string(),
        reverses: z.string().nullable(),
        sequence: z.int().min(1),
        txid: z.string().nullable(),
      }),
    )
    .describe('oldest first'),
});

export const entriesSchema = z.strictObject({
  entries: z
    .array(
      z.strictObject({
        entryId: z.string().regex(ENTRY_ID).describe('event, and line in it'),
        time: timestamp,
        transactionId: z.string().describe('entries of a transaction sum to zero in each asset'),
        kind: z.string(),
        account: z.string().describe('a wallet, `house`, `withdrawals` or `custody`'),
        asset: assetSymbol,
        amount: signedText.describe('positive: the account received'),
        reference: z.string().describe('the order, or the reference of a deposit or withdrawal'),
        market: marketSymbol.nullable(),
        side: z.enum(['buy', 'sell']).nullable(),
        price: decimalText.nullable(),
        size: decimalText.nullable(),
        feeBps: z.number().nullable(),
      }),
    )
    .describe('oldest first'),
});

export const reportText = z
  .string()
  .describe(
    'The same rows, without totals. A text that a spreadsheet would run as a formula has an apostrophe in front.',
  );
