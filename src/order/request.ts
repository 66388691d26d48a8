/** The request that places an order. `src/http/openapi/order-bodies.ts` documents the shapes that it takes. */

import { z } from 'zod';
import { notNegativeDecimal } from '../contract/decimals.ts';
import { clientOrderId, optional, text } from '../contract/fields.ts';
import { REQUESTED, schemasOf } from './fields.ts';

export const requestMembers = schemasOf(REQUESTED, 'request');

const { size, quoteAmount } = requestMembers;

export const orderRequestSchema = z
  .object({ ...requestMembers, size: optional(size), quoteAmount: optional(quoteAmount) })
  .refine(
    ({ size, quoteAmount }) => (size === undefined) !== (quoteAmount === undefined),
    'give exactly one of size and quoteAmount',
  )
  .refine(
    ({ quoteAmount, type, side }) => quoteAmount === undefined || (type === 'market' && side === 'buy'),
    'quoteAmount is only for market buys',
  );

export const replacedMembers = {
  orderId: optional(text).describe('`id` of the live order that is replaced'),
  replacesClientOrderId: optional(clientOrderId).describe('its client order id, in place of `orderId`'),
  filledSize: optional(notNegativeDecimal).describe(
    '`filledSize` of that order, as the client knows it: if it has filled another amount, the answer is `CONFLICT`, ' +
      'nothing changes, and the new `clientOrderId` stays unused',
  ),
};

/** The order that a request replaces. */
export const replacedOrder = z
  .object(replacedMembers)
  .refine(
    ({ orderId, replacesClientOrderId }) => (orderId === undefined) !== (replacesClientOrderId === undefined),
    'give exactly one of orderId and replacesClientOrderId',
  );

/** Maximum orders of one order batch. */
const MAX_ORDERS_OF_BATCH = 50;

/** Names of the shapes of an order in the document. */
const ORDER_JSON = {
  anyOf: ['OrderBySize', 'OrderByQuoteAmount'].map((name) => ({ $ref: `#/components/schemas/${name}` })),
};

/** Each order is checked by itself, because each has a result of its own. */
export const orderBatchRequest = z.object({
  orders: z
    .array(z.unknown().meta(ORDER_JSON), 'must be a list')
    .min(1, 'must not be empty')
    .max(MAX_ORDERS_OF_BATCH, `must have at most ${MAX_ORDERS_OF_BATCH} orders`),
});

type Admitted = z.output<typeof orderRequestSchema>;
type Absent = { [Name in keyof Admitted]: undefined extends Admitted[Name] ? Name : never }[keyof Admitted];

/** An order as the schema admits it: finite numbers, not yet checked against any rule. */
export type OrderRequest = Readonly<Omit<Admitted, Absent> & Partial<Pick<Admitted, Absent>>>;
