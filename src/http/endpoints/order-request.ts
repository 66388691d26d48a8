/** Reads the body of `POST /v1/orders`. */

import { z } from 'zod';
import { address, clientOrderId, flag, oneOf, optional, text } from '../../contract/fields.ts';
import { Refusal } from '../../domain/errors.ts';
import type { OrderRequest } from '../../domain/placing.ts';
import { compareWith, type Decimal, isWhole } from '../../domain/units.ts';
import { describeIssues } from '../checked.ts';
import { decimal, POSITIVE_DECIMAL_JSON, positiveDecimal } from '../decimals.ts';

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
