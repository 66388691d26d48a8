/** Schema of a wallet's statement. */

import { z } from 'zod';
import { nextStatementCursor } from './cursor.ts';
import {
  amount,
  assetSymbol,
  feeBps,
  marketSymbol,
  side,
  signedAmount,
  timestamp,
  wallet,
} from './values.ts';

const balances = z.array(z.strictObject({ asset: assetSymbol, amount }));

const ofTrade = 'null unless the line is of a trade';

const lineSchema = z.strictObject({
  time: timestamp,
  kind: z
    .enum([
      'deposit',
      'withdrawal',
      'withdrawal_requested',
      'withdrawal_confirmed',
      'withdrawal_returned',
      'trade',
      'fee',
      'receivable',
      'adoption',
    ])
    .describe(
      'a requested withdrawal is pending until it is confirmed (paid) or returned; a receivable is the part of a ' +
        'reversed deposit that the wallet had spent and owes, or of a later deposit that pays what it owes; an ' +
        'adoption is the sum of what lost events changed',
    ),
  asset: assetSymbol,
  amount: signedAmount.describe('change of the balance; negative if the wallet paid'),
  market: marketSymbol.nullable().describe(ofTrade),
  side: side.nullable().describe('side of the wallet'),
  role: z.enum(['maker', 'taker']).nullable(),
  price: amount.nullable().describe(ofTrade),
  size: amount.nullable().describe(ofTrade),
  fee: amount
    .nullable()
    .describe(
      'fee that the wallet paid for the trade, in the quote asset; only on the first line of a trade',
    ),
  feeBps: feeBps
    .nullable()
    .describe('rate of that fee in hundredths of a percent: what the market asked then, and 0 for a maker'),
  counterAsset: assetSymbol.nullable().describe('the other asset of the trade'),
  counterAmount: signedAmount.nullable().describe('change of the other asset'),
  orderId: z.string().nullable().describe('own order of the trade'),
  tradeId: z.string().nullable(),
  reference: z.string().nullable().describe('reference of a deposit or a withdrawal'),
  sequence: z.int().min(1).describe('number of the event; lines of one event belong together'),
  txid: z
    .string()
    .nullable()
    .describe(
      'transaction that paid the withdrawal: on its request, once it is confirmed, and on its confirmation',
    ),
});

export const statementSchema = z
  .strictObject({
    wallet,
    from: timestamp,
    to: timestamp,
    settledTo: timestamp.nullable().describe('time of the last event that the statement can show'),
    opening: balances
      .nullable()
      .describe('balances right before `from`, without zeros; null but on the first page'),
    lines: z.array(lineSchema).describe('oldest first'),
    closing: balances
      .nullable()
      .describe('balances right before `to`, without zeros; null but on the last page'),
    nextCursor: nextStatementCursor,
  })
  .meta({
    description: 'A page of the statement of a wallet.',
    examples: [
      {
        wallet: '0x52908400098527886e0f7030069857d2e4169ee7',
        from: '2026-01-01T00:00:00.000Z',
        to: '2026-02-01T00:00:00.000Z',
        settledTo: '2026-02-01T08:12:00.123Z',
        opening: [],
        lines: [
          {
            time: '2026-01-05T09:30:00.000Z',
            kind: 'deposit',
            asset: 'USDC',
            amount: 1000,
            market: null,
            side: null,
            role: null,
            price: null,
            size: null,
            fee: null,
            feeBps: null,
            counterAsset: null,
            counterAmount: null,
            orderId: null,
            tradeId: null,
            reference: '0x5c50…:0',
            sequence: 42,
            txid: null,
          },
        ],
        closing: [{ asset: 'USDC', amount: 1000 }],
        nextCursor: null,
      },
    ],
  });

export const statementText = z
  .string()
  .describe(
    '`csv`: a row `statement` with wallet and span, rows `opening` and `closing`, and lines with their fields between ' +
      'them. `koinly` and `cointracking`: a row for each trade and each movement, with the columns that these programs ' +
      'import; CoinTracking wants the fee inside of the amounts. An apostrophe stands in front of a text that a ' +
      'spreadsheet would run as a formula or read as a number or a date, and of one that begins with an apostrophe.',
  );

export const statementJournal = z
  .string()
  .describe('`hledger`: a journal, whose last transaction asserts the closing balances');
