/** Requests and replies of the routes for operators. Amounts in replies are decimals as text. */

import { z } from 'zod';
import { MAX_REASON } from '../domain/act.ts';
import { ALL_ERRORS, type ErrorCode, type OperatorCode } from '../domain/errors.ts';
import { MARKET_STATUSES, SELF_TRADE_POLICIES } from '../domain/market.ts';
import { MAX_FEE_BPS, MAX_SCALE } from '../domain/market-rules.ts';
import { isMonth } from '../domain/months.ts';
import { isValidText } from '../domain/text.ts';
import { formatDecimal, isWhole, toInteger } from '../domain/units.ts';
import { WITHDRAWAL_STATES } from '../domain/withdrawal-states.ts';
import { cursorText, nextCursor } from './cursor.ts';
import { decimal, positiveDecimal } from './decimals.ts';
import { address, flag, INTEGER_JSON, oneOf, optional, queryText, text, validText } from './fields.ts';
import { moment } from './requests.ts';
import { assetSymbol, decimalText, marketSymbol, side, timestamp, wallet } from './values.ts';

const MAX_MOVEMENTS = 64;

const reference = validText(256).describe('counts once; `chain:txid:output` is a good one');
const reason = validText(MAX_REASON).describe('why; kept for auditors');
const inLowerCase = address.transform((given) => given.toLowerCase());

const MOVEMENT_KINDS = ['deposit', 'withdrawal'] as const;

/** Each movement is checked by itself, so that one that is wrong does not refuse the others. */
export const movementRequest = z.strictObject({
  reference,
  kind: oneOf(MOVEMENT_KINDS),
  wallet: inLowerCase,
  asset: text,
  amount: positiveDecimal,
  reverses: optional(reference).describe('reference of the movement that this corrects'),
  reason,
});

export const movementsRequest = z
  .strictObject({
    movements: z
      .array(z.unknown(), 'must be a list')
      .min(1, `must have 1 to ${MAX_MOVEMENTS} movements`)
      .max(MAX_MOVEMENTS, `must have 1 to ${MAX_MOVEMENTS} movements`),
  })
  .meta({
    description: `1 to ${MAX_MOVEMENTS} movements, each with \`reference\`, \`kind\` (deposit or withdrawal), \`wallet\`, \`asset\`, \`amount\` and \`reason\`.`,
    examples: [
      {
        movements: [
          {
            reference: 'eip155:8453:0x5c50…:0',
            kind: 'deposit',
            wallet: '0x52908400098527886E0F7030069857D2E4169EE7',
            asset: 'USDC',
            amount: '1000.5',
            reason: 'confirmed on chain',
          },
        ],
      },
    ],
  });

const MAX_PAGE = 500;
const limit = queryText
  .regex(/^([1-9]\d?|[1-4]\d\d|500)$/, `must be a whole number from 1 to ${MAX_PAGE}`)
  .transform(Number)
  .default(100)
  .meta({ ...INTEGER_JSON, minimum: 1, maximum: MAX_PAGE, default: 100 });

/** A withdrawal that custody pays later. */
export const withdrawalRequest = z
  .strictObject({ reference, wallet: inLowerCase, asset: text, amount: positiveDecimal, reason })
  .meta({ description: 'The amount leaves the wallet at once, and is pending.' });

export const confirmRequest = z.strictObject({
  txid: validText(256).describe('transaction that paid the withdrawal'),
  reason: optional(reason).describe('why; the transaction if it is left out'),
});

export const withdrawalsRequest = z.object({
  state: oneOf(WITHDRAWAL_STATES).default('pending'),
  limit,
  cursor: cursorText,
});

export const referenceRequest = z.object({ reference });
export const walletRequest = z.object({ wallet: inLowerCase });
export const symbolRequest = z.object({ symbol: text.describe('market symbol, URL-encoded: `ETH%2FUSDC`') });
export const orderRequest = z.object({ orderId: text.describe('`id` of a live order') });
export const reasonRequest = z.strictObject({ reason });

const rule = optional(positiveDecimal.transform(formatDecimal), null).describe('null: not enforced');
/** A whole number of a body, whose numbers come as they were written. */
const wholeNumber = (most: number) =>
  decimal
    .refine(isWhole, 'must be a whole number')
    .transform(toInteger)
    .refine((value) => value >= 0 && value <= most, `must be from 0 to ${most}`)
    .meta({ oneOf: undefined, type: 'integer', minimum: 0, maximum: most });

const feeBps = wholeNumber(MAX_FEE_BPS);
const kept = <Schema extends z.ZodType>(schema: Schema) => schema.optional();

export const createMarketRequest = z.strictObject({
  symbol: text,
  tickSize: rule,
  sizeStep: rule,
  minOrderSize: rule,
  maxOrderSize: rule,
  minNotional: rule,
  feeBps,
  status: oneOf(['active', 'pre_open']).default('active'),
  sellEnabled: flag.default(true),
  visible: flag.default(true),
  selfTrade: oneOf(SELF_TRADE_POLICIES).default('expire_taker'),
  referencePrice: rule,
  networkId: kept(text),
  reason,
});

const changedRule = kept(positiveDecimal.transform(formatDecimal).nullable());

export const changeMarketRequest = z.strictObject({
  status: kept(oneOf(MARKET_STATUSES)),
  tradingEnabled: kept(flag),
  sellEnabled: kept(flag),
  visible: kept(flag),
  feeBps: kept(feeBps),
  minOrderSize: changedRule,
  maxOrderSize: changedRule,
  minNotional: changedRule,
  selfTrade: kept(oneOf(SELF_TRADE_POLICIES)),
  referencePrice: changedRule,
  reason,
});

const listing = {
  name: text.optional().describe('name for aggregators'),
  ucid: text.optional().describe('Unified Cryptoasset ID of CoinMarketCap'),
  canDeposit: z.boolean().optional(),
  canWithdraw: z.boolean().optional(),
  minWithdraw: text.optional().describe('smallest withdrawal, a decimal'),
};

export const assetRequest = z.strictObject({
  symbol: text,
  scale: wholeNumber(MAX_SCALE).optional(),
  ...listing,
  reason,
});

/** Postgres refuses to compare with other text. */
const named = queryText.refine(isValidText, 'must be valid text without U+0000').optional();

export const actsRequest = z.object({
  since: moment.optional().describe('ISO 8601 time, inclusive'),
  by: named.describe('name of a person or of a key'),
  wallet: inLowerCase.optional(),
  market: named,
  limit,
  cursor: cursorText,
});

export const requireTermsRequest = z.strictObject({
  version: validText(128).nullable().describe('null: no terms are required'),
  reason,
});

const anyCode = z.enum(
  Object.keys(ALL_ERRORS) as [ErrorCode | OperatorCode, ...(ErrorCode | OperatorCode)[]],
);

export const operatorErrorSchema = z
  .strictObject({ error: z.string().min(1), code: anyCode })
  .meta({ description: 'An error. Programs branch on its `code`.' });

export const unexpectedOperatorErrorSchema = z.strictObject({
  statusCode: z.int().min(400).max(599),
  code: anyCode,
  error: z.string().min(1),
  message: z.string().min(1),
});

const movementSchema = z.strictObject({
  reference: z.string(),
  kind: z.enum(MOVEMENT_KINDS),
  wallet,
  asset: assetSymbol,
  amount: decimalText,
});

export const movementResultSchema = z
  .union([
    movementSchema.extend({
      status: z.union([z.literal(200), z.literal(201)]).describe('200: it was booked before'),
    }),
    z.strictObject({ status: z.int().min(400).max(599), error: z.string().min(1), code: anyCode }),
  ])
  .meta({ description: 'A booked movement, or the reason why it was refused.' });

export const movementResultsSchema = z.strictObject({ results: z.array(movementResultSchema) });
export const movementsSchema = z.strictObject({ movements: z.array(movementSchema) });

export const withdrawalSchema = z.strictObject({
  reference: z.string(),
  wallet,
  asset: assetSymbol,
  amount: decimalText,
  state: z.enum(WITHDRAWAL_STATES),
  txid: z.string().nullable().describe('transaction that paid it; null unless it is confirmed'),
  held: z.boolean().describe('the wallet is on custody hold: do not pay now'),
});
export const withdrawalsSchema = z.strictObject({
  withdrawals: z
    .array(withdrawalSchema.extend({ requestedAt: timestamp, endedAt: timestamp.nullable() }))
    .describe('oldest first'),
  nextCursor,
});

export const operatorsMarketSchema = z.strictObject({
  symbol: marketSymbol,
  status: z.enum(MARKET_STATUSES),
  tradingEnabled: z.boolean(),
  sellEnabled: z.boolean(),
  visible: z.boolean(),
  feeBps: z.int().min(0).max(MAX_FEE_BPS),
  tickSize: decimalText.nullable(),
  sizeStep: decimalText.nullable(),
  minOrderSize: decimalText.nullable(),
  maxOrderSize: decimalText.nullable(),
  minNotional: decimalText.nullable(),
  selfTrade: z.enum(SELF_TRADE_POLICIES),
  referencePrice: decimalText.nullable(),
  networkId: z.string(),
  tick: decimalText,
  step: decimalText,
  version: z.int().min(0),
  baseToken: assetSymbol,
  quoteToken: assetSymbol,
});
export const operatorsMarketsSchema = z.strictObject({ markets: z.array(operatorsMarketSchema) });

export const assetSchema = z
  .strictObject({ symbol: assetSymbol, scale: z.int().min(0).max(MAX_SCALE), ...listing })
  .describe('the decimals, and what was set');

export const accountSchema = z.strictObject({
  wallet,
  held: z.boolean().describe('on custody hold'),
  terms: z.strictObject({ accepted: z.string().nullable(), required: z.string().nullable() }),
  balances: z.array(
    z.strictObject({
      asset: assetSymbol,
      total: decimalText,
      available: decimalText,
      reserved: decimalText.describe('held by live orders'),
    }),
  ),
  liveOrders: z.array(
    z.strictObject({
      id: z.string(),
      market: marketSymbol,
      side,
      price: decimalText,
      size: decimalText,
      remaining: decimalText,
      clientOrderId: z.string().nullable(),
    }),
  ),
});

const endedOrder = z.strictObject({
  id: z.string(),
  wallet,
  market: marketSymbol,
  clientOrderId: z.string().nullable(),
  status: z.string(),
  reason: z.string().nullable(),
});
export const endedOrderSchema = endedOrder;
const endedOrders = { cancelled: z.array(endedOrder), count: z.int().min(0) };
export const holdSchema = z.strictObject({ wallet, held: z.boolean(), ...endedOrders });
export const clearedSchema = z.strictObject({ market: marketSymbol, ...endedOrders });

const changed = z.string().nullable();

export const actsSchema = z.strictObject({
  acts: z.array(
    z.strictObject({
      time: timestamp,
      event: z.int().min(1),
      act: z.string().describe('command, like `account hold`'),
      by: z.string(),
      reason: z.string(),
      wallet: changed,
      market: changed,
      asset: changed,
      subject: changed.describe('reference, order id, month or key'),
      before: changed,
      after: changed,
    }),
  ),
  nextCursor,
});

export const closeMonthRequest = z.strictObject({
  month: text
    .refine(isMonth, 'must be a month like 2026-11')
    .meta({ description: 'a month that is over (UTC)', examples: ['2026-11'] }),
  reason,
});

const closing = z.strictObject({
  month: z.string(),
  end: timestamp,
  sequence: z.int().min(0).describe('the last booked event before the end; 0: none'),
  closedAt: timestamp,
  balances: z.int().min(0).describe('number of balances that were kept'),
  digest: z.string().describe('SHA-256 of the balances'),
});

export const closedMonthSchema = closing.extend({
  isNew: z.boolean().describe('false: the month was closed before, and nothing changed'),
});

export const closingsSchema = z.strictObject({ closings: z.array(closing).describe('oldest first') });

export const holdsRequest = z.object({ limit, cursor: inLowerCase.optional().describe('`nextCursor`') });
export const holdsSchema = z.strictObject({
  holds: z.array(z.strictObject({ wallet, since: timestamp })).describe('by wallet, as settled'),
  nextCursor: wallet.nullable(),
});

export const tradingSchema = z.strictObject({ paused: z.boolean() });
export const requiredTermsSchema = z.strictObject({ requiredVersion: z.string().nullable() });

export const lastReconcileSchema = z.strictObject({
  at: timestamp,
  holds: z.boolean(),
  differences: z.int().min(0),
  sequence: z.int().min(0),
  checks: z.int().min(0),
  failedChecks: z.array(z.string()),
});
export const reconcileResultsSchema = lastReconcileSchema.extend({
  results: z
    .array(
      z.strictObject({
        name: z.string(),
        asset: z.string().nullable().describe('asset that was checked; null if the check is of all'),
        compared: z.string().describe('number and kind of the compared things'),
        differences: z.int().min(0).describe('0 if the check holds'),
      }),
    )
    .nullable()
    .describe(
      'each check with its result. Of more than 1,000, those with the most differences. Null if an older release ' +
        'reconciled.',
    ),
});
const counts = z.record(z.string(), z.int().min(0)).nullable();

export const serviceStatusSchema = z
  .strictObject({
    engine: z
      .strictObject({
        epoch: z.int(),
        sequence: z.int(),
        lastEventAt: timestamp.nullable(),
        paused: z.boolean(),
        requiredTerms: z.string().nullable(),
      })
      .nullable(),
    settlement: z
      .strictObject({
        epoch: z.int(),
        sequence: z.int(),
        lastSettledAt: timestamp.nullable(),
        lag: z.strictObject({ events: z.int().min(0), seconds: z.number().min(0) }).nullable(),
      })
      .nullable(),
    reconciled: lastReconcileSchema.nullable(),
    markets: z
      .array(
        z.strictObject({
          symbol: marketSymbol,
          status: z.enum(MARKET_STATUSES),
          tradingEnabled: z.boolean(),
        }),
      )
      .nullable(),
    queue: counts.describe('wake-ups by state'),
    replicas: counts.describe('running processes by role'),
    snapshotAgeMs: z.number().nullable(),
  })
  .meta({ description: 'The state of the service. A part whose server does not answer is null.' });
