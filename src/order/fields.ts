/**
 * The fields of an order: what each one is in a request, in Postgres and in a reply; `bytes.ts` has them in calls and
 * events. Every reader and writer of orders follows from these tables. To add a field, name it in `OrderTerms` or
 * `OrderLife`, add it to the tables and in a migration, give `ENGINE_FORMAT` the next number if it has bytes, and run
 * `npm run -s proofs -- order-formats`.
 */

import { z } from 'zod';
import { decimal, POSITIVE_DECIMAL_JSON, positiveDecimal } from '../contract/decimals.ts';
import { address, clientOrderId, flag, oneOf, optional, text } from '../contract/fields.ts';
import { amount, marketSymbol, timestamp } from '../contract/values.ts';
import { END_REASONS, type EndReason, ORDER_STATUSES, type OrderTerms } from '../domain/order.ts';
import type { OrderLife } from '../domain/order-life.ts';
import { compareWith, type Decimal, isPositive, isWhole, toInteger } from '../domain/units.ts';
import { FILL, fillSchema, orderId } from './fill.ts';

/** An order's life, with the events that changed and closed it. */
export interface Progress extends OrderLife {
  updatedSequence: number;
  /** Null while it is live. */
  closedSequence: number | null;
}

/**
 * Kind of a value, which decides how it is written. A word is text that needs no escapes; a price is in ticks, a size in
 * steps.
 */
export type Kind = 'word' | 'text' | 'flag' | 'number' | 'time' | 'price' | 'size';

interface OrderField {
  readonly kind: Kind;
  /** Name in requests and replies, if it is another one there. */
  readonly wire?: string;
  /** Member of a request. The schema gives the value of an absent member. */
  readonly request?: z.ZodType;
  /** Columns of the tables of orders. */
  readonly column?: string;
  /** Text of the value in the chain of events, if it is not that of the row. */
  readonly inChain?: 'bits';
  readonly reply?: z.ZodType;
  /** Value in the example of a reply. */
  readonly example?: unknown;
}

/** Fields that only requests or only replies have. */
type Unstored = 'quoteAmount' | 'reduceOnly' | 'account' | 'expiresAfter' | 'remainingSteps' | 'fills';

export const TIMES_IN_FORCE = ['GTC', 'IOC', 'FOK'] as const satisfies OrderTerms['timeInForce'][];

/** Accepts values above 100, because the engine rejects those as INVALID_ORDER. */
const isLeverage = (value: Decimal): boolean =>
  compareWith(value, 100) > 0 ||
  (isWhole(value) && compareWith(value, 1) >= 0 && compareWith(value, 50) <= 0);

const LEVERAGE_JSON = {
  oneOf: [
    { type: 'integer', minimum: 1, maximum: 50 },
    { type: 'string', pattern: '^([1-9]|[1-4]\\d|50)$' },
  ],
};

/** Latest deadline that a call can carry. Later ones, in the year 10889 and after, stand for this one. */
const LATEST_MS = 2 ** 48 - 1;

const MILLISECONDS_JSON = {
  oneOf: [
    { type: 'integer', minimum: 1 },
    { type: 'string', pattern: String.raw`^0*[1-9]\d*$`, maxLength: 400 },
  ],
};

const reasonSchema = z
  .enum(Object.keys(END_REASONS) as EndReason[])
  .nullable()
  .describe(
    'why the order ended; null while it is live, when it is filled, and when it ended under a release that did not ' +
      'record it. The order ended because: ' +
      Object.entries(END_REASONS)
        .map(([code, meaning]) => `\`${code}\` ${meaning}`)
        .join('; '),
  );

export const FIELDS = {
  id: { kind: 'word', column: 'id', reply: orderId, example: FILL.orderId },
  wallet: { kind: 'word', column: 'wallet' },
  market: {
    kind: 'word',
    request: text.describe('symbol of a market'),
    column: 'market',
    reply: marketSymbol,
    example: 'ETH/USDC',
  },
  side: {
    kind: 'word',
    request: oneOf(['buy', 'sell']),
    column: 'side',
    reply: z.enum(['buy', 'sell']),
    example: 'buy',
  },
  type: {
    kind: 'word',
    request: oneOf(['limit', 'market']),
    column: 'type',
    reply: z.enum(['limit', 'market']),
    example: 'limit',
  },
  timeInForce: {
    kind: 'word',
    request: optional(oneOf(TIMES_IN_FORCE), 'GTC').describe('GTC by default'),
    column: 'time_in_force',
    reply: z.enum(TIMES_IN_FORCE),
    example: 'GTC',
  },
  postOnly: {
    kind: 'flag',
    request: optional(flag, false).describe('rejects an order that would take liquidity'),
    column: 'post_only',
    reply: z.boolean(),
    example: false,
  },
  priceTicks: {
    kind: 'price',
    wire: 'price',
    request: optional(positiveDecimal).describe(
      'limit price, required for limit orders: a multiple of `priceIncrement`',
    ),
    column: 'price_ticks',
    reply: amount.nullable().describe('limit price; null on a market order'),
    example: 2000,
  },
  sizeSteps: {
    kind: 'size',
    wire: 'size',
    // Any finite size passes here. The engine rejects a size that is not positive as INVALID_ORDER, in its own order of
    // checks.
    request: decimal.meta({
      ...POSITIVE_DECIMAL_JSON,
      description: 'size in base units: a multiple of `sizeIncrement`',
    }),
    column: 'size_steps',
    reply: amount.describe(
      'size in base units; for an order by quote amount, the size in whole steps that the amount was converted to',
    ),
    example: 1,
  },
  quoteAmount: {
    kind: 'text',
    request: positiveDecimal.describe(
      'for market buys only, in place of `size`; buys the largest whole number of size steps that the amount pays ' +
        'for, fee excluded',
    ),
  },
  createdAtMs: {
    kind: 'time',
    wire: 'createdAt',
    column: 'created_at_ms',
    reply: timestamp,
    example: FILL.createdAt,
  },
  sequence: { kind: 'number', column: 'sequence' },
  units: { kind: 'text', column: 'base, quote, base_atoms_per_step, quote_atoms_per_lot' },
  /** The reason of a rejected order, which never changes. */
  rejectReason: { kind: 'word', column: 'reject_reason' },
  reduceOnly: {
    kind: 'flag',
    request: optional(flag, false).describe('for position markets; there are none yet'),
  },
  leverage: {
    kind: 'number',
    request: optional(
      decimal
        .refine(isLeverage, 'must be a whole number from 1 to 50')
        .meta(LEVERAGE_JSON)
        .transform(toInteger),
      null,
    ).describe('stored, without effect on spot markets'),
    column: 'leverage',
    inChain: 'bits',
  },
  clientOrderId: {
    kind: 'text',
    request: optional(clientOrderId, null).describe(
      'unique for each wallet and remembered for ever; a repeated id returns the order that first used it',
    ),
    column: 'client_order_id',
    reply: z.string().min(1).max(128).nullable().describe('null if the request had none'),
    example: 'my-order-1',
  },
  account: {
    kind: 'word',
    request: optional(address).describe('must be the wallet of the session'),
  },
  expiresAfter: {
    kind: 'time',
    request: optional(
      decimal
        .refine((value) => isWhole(value) && isPositive(value), 'must be a positive whole number')
        .meta(MILLISECONDS_JSON)
        .transform((value) => Math.min(toInteger(value), LATEST_MS)),
    ).describe(
      'Unix milliseconds: an order that the engine begins later is refused with `BAD_REQUEST`, leaves no record, and ' +
        'its `clientOrderId` stays unused',
    ),
  },
  filledSteps: { kind: 'size', wire: 'filledSize', column: 'filled_steps', reply: amount, example: 0.4 },
  remainingSteps: { kind: 'size', wire: 'remainingSize', reply: amount, example: 0.6 },
  fillCount: {
    kind: 'number',
    column: 'fill_count',
    reply: z.int().min(0).describe('number of all fills of the order'),
    example: 1,
  },
  status: {
    kind: 'word',
    column: 'status',
    reply: z
      .enum(ORDER_STATUSES)
      .describe('`open`, `resting` and `partially_filled` orders are live; all other statuses are terminal'),
    example: 'partially_filled',
  },
  updatedAtMs: {
    kind: 'time',
    wire: 'updatedAt',
    column: 'updated_at_ms',
    reply: timestamp.describe('time of the last change of status or fills; ISO 8601'),
    example: FILL.createdAt,
  },
  updatedSequence: { kind: 'number', column: 'updated_sequence' },
  closedSequence: { kind: 'number', column: 'closed_sequence' },
  reason: { kind: 'word', column: 'reason', reply: reasonSchema, example: null },
  fills: {
    kind: 'text',
    reply: z
      .array(fillSchema)
      .describe(
        'newest fills of the order, in the order of execution, 1,000 at most by default. A list whose fills pass ' +
          '5,000 in all ends there, with a `nextCursor`. `GET /v1/trades?orderId=` returns all fills.',
      ),
    example: [FILL],
  },
} as const satisfies Record<keyof OrderTerms | keyof Progress | 'rejectReason' | Unstored, OrderField>;

/** Members of a request, in the order of their checks. */
export const REQUESTED = [
  'market',
  'side',
  'type',
  'priceTicks',
  'sizeSteps',
  'quoteAmount',
  'clientOrderId',
  'timeInForce',
  'postOnly',
  'reduceOnly',
  'leverage',
  'account',
  'expiresAfter',
] as const satisfies readonly (keyof typeof FIELDS)[];

/** Members of a reply. */
export const SHOWN = [
  'id',
  'market',
  'side',
  'type',
  'timeInForce',
  'postOnly',
  'priceTicks',
  'sizeSteps',
  'filledSteps',
  'remainingSteps',
  'status',
  'reason',
  'clientOrderId',
  'createdAtMs',
  'updatedAtMs',
  'fillCount',
  'fills',
] as const satisfies readonly (keyof typeof FIELDS)[];

/** Fields of a row that never change, in the order of its columns. Those with another text in the chain are last. */
export const FIXED = [
  'id',
  'wallet',
  'market',
  'side',
  'type',
  'timeInForce',
  'postOnly',
  'priceTicks',
  'sizeSteps',
  'createdAtMs',
  'sequence',
  'units',
  'rejectReason',
  'clientOrderId',
  'leverage',
] as const satisfies readonly (keyof typeof FIELDS)[];

/** Fields of a row that change, in the order of its columns. */
export const CHANGING = [
  'filledSteps',
  'fillCount',
  'status',
  'updatedAtMs',
  'updatedSequence',
  'closedSequence',
  'reason',
] as const satisfies readonly (keyof typeof FIELDS)[];

/** Fields of a row that a list reads. */
export const LISTED: readonly FieldName[] = [...SHOWN.filter((name) => 'column' in FIELDS[name]), 'sequence'];

type Fields = typeof FIELDS;
export type FieldName = keyof Fields;
type WireOf<Name extends FieldName> = Fields[Name] extends { readonly wire: infer Wire extends string }
  ? Wire
  : Name;

export const fieldOf = (name: FieldName): OrderField => FIELDS[name];
/** True if the field may be null in a reply. */
export const isNullable = (name: FieldName): boolean => fieldOf(name).reply instanceof z.ZodNullable;
export const wireOf = (name: FieldName): string => fieldOf(name).wire ?? name;

/** Returns the schemas of these fields in requests or replies, by their names there. */
export const schemasOf = <Name extends FieldName, Form extends 'request' | 'reply'>(
  names: readonly Name[],
  form: Form,
) =>
  Object.fromEntries(names.map((name) => [wireOf(name), fieldOf(name)[form]])) as {
    [Each in Name as WireOf<Each>]: Fields[Each] extends Readonly<Record<Form, infer Schema>>
      ? Schema
      : never;
  };

/** Example of an order in replies. */
export const ORDER_EXAMPLE = Object.fromEntries(SHOWN.map((name) => [wireOf(name), fieldOf(name).example]));
