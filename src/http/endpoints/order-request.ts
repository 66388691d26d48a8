/** Reads the body of `POST /v1/orders`. */

import { z } from 'zod';
import { address, clientOrderId, flag, oneOf, optional, text } from '../../contract/fields.ts';
import { Refusal } from '../../domain/errors.ts';
import type { OrderRequest } from '../../domain/placing.ts';
import { compareWith, type Decimal, isPositive, isWhole } from '../../domain/units.ts';
import { decimal, POSITIVE_DECIMAL_JSON, positiveDecimal, readDecimal } from '../decimals.ts';
import { describeIssues } from '../endpoint.ts';

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

/** Members of an order. `src/http/openapi/order-bodies.ts` documents the shapes they form. */
export const orderFields = {
  market: text.describe('symbol of a market'),
  side: oneOf(['buy', 'sell']),
  type: oneOf(['limit', 'market']),
  price: optional(positiveDecimal).describe(
    'limit price, required for limit orders: a multiple of `priceIncrement`',
  ),
  // Any finite size passes here. The engine rejects a size that is not positive as INVALID_ORDER, in its own order of
  // checks.
  size: decimal.meta({
    ...POSITIVE_DECIMAL_JSON,
    description: 'size in base units: a multiple of `sizeIncrement`',
  }),
  quoteAmount: positiveDecimal.describe(
    'for market buys only, in place of `size`; buys the largest whole number of size steps that the amount pays ' +
      'for, fee excluded',
  ),
  clientOrderId: optional(clientOrderId).describe(
    'unique for each wallet and remembered for ever; a repeated id returns the order that first used it',
  ),
  timeInForce: optional(oneOf(['GTC', 'IOC', 'FOK'])).describe('GTC by default'),
  postOnly: optional(flag).describe('rejects an order that would take liquidity'),
  reduceOnly: optional(flag).describe('for position markets; there are none yet'),
  leverage: optional(
    decimal.refine(isLeverage, 'must be a whole number from 1 to 50').meta(LEVERAGE_JSON),
  ).describe('stored, without effect on spot markets'),
  account: optional(address).describe('must be the wallet of the session'),
};

const { size, quoteAmount } = orderFields;

export const orderSchema = z
  .object({ ...orderFields, size: optional(size), quoteAmount: optional(quoteAmount) })
  .refine(
    ({ size, quoteAmount }) => (size === undefined) !== (quoteAmount === undefined),
    'give exactly one of size and quoteAmount',
  )
  .refine(
    ({ quoteAmount, type, side }) => quoteAmount === undefined || (type === 'market' && side === 'buy'),
    'quoteAmount is only for market buys',
  );

type OrderBody = z.infer<typeof orderSchema>;

/** @returns the order, or a refusal if it cannot be placed */
export function readOrder(body: unknown, wallet: string): OrderRequest | Refusal {
  const plain = readPlainOrder(body as object);
  if (plain !== undefined) return plain;
  const { success, data, error } = orderSchema.safeParse(body);
  if (!success) return new Refusal('VALIDATION_ERROR', describeIssues(error));
  const { account } = data;
  return account === undefined || account.toLowerCase() === wallet
    ? requestOf(data)
    : new Refusal('FORBIDDEN', 'account: must be the wallet of the session');
}

const requestOf = (order: OrderBody): OrderRequest => ({
  market: order.market,
  side: order.side,
  type: order.type,
  price: order.price,
  size: order.size,
  quoteAmount: order.quoteAmount,
  clientOrderId: order.clientOrderId ?? null,
  timeInForce: order.timeInForce ?? 'GTC',
  postOnly: order.postOnly ?? false,
  reduceOnly: order.reduceOnly ?? false,
  leverage: order.leverage ?? null,
});

const SIDES: ReadonlySet<unknown> = new Set(['buy', 'sell']);
const TYPES: ReadonlySet<unknown> = new Set(['limit', 'market']);
const TIMES_IN_FORCE: ReadonlySet<unknown> = new Set(['GTC', 'IOC', 'FOK']);

/**
 * Parses an order in the form that most clients send, in a tenth of the time that the schema takes.
 * @returns undefined for any other body, which the schema then checks
 */
export function readPlainOrder(body: object): OrderRequest | undefined {
  const order = body as { readonly [Name in keyof OrderBody]: unknown };
  if (order.quoteAmount !== undefined || order.leverage !== undefined || order.account !== undefined)
    return undefined;
  const {
    market,
    side,
    type,
    clientOrderId,
    timeInForce = 'GTC',
    postOnly = false,
    reduceOnly = false,
  } = order;
  if (typeof market !== 'string' || market === '' || !SIDES.has(side) || !TYPES.has(type)) return undefined;
  if (!TIMES_IN_FORCE.has(timeInForce) || typeof postOnly !== 'boolean' || typeof reduceOnly !== 'boolean')
    return undefined;
  const price = order.price === undefined ? undefined : readDecimal(order.price);
  if (order.price !== undefined && (price === undefined || !isPositive(price))) return undefined;
  const size = readDecimal(order.size);
  if (size === undefined) return undefined;
  if (clientOrderId !== undefined && !isPlainId(clientOrderId)) return undefined;
  return {
    market,
    side: side as OrderRequest['side'],
    type: type as OrderRequest['type'],
    price,
    size,
    quoteAmount: undefined,
    clientOrderId: clientOrderId ?? null,
    timeInForce: timeInForce as OrderRequest['timeInForce'],
    postOnly,
    reduceOnly,
    leverage: null,
  };
}

/** Matches 1 to 128 printable ASCII characters. */
const PLAIN_ID = /^[ -~]{1,128}$/;

const isPlainId = (id: unknown): id is string => typeof id === 'string' && PLAIN_ID.test(id);
