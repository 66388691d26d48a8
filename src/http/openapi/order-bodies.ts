/**
 * The bodies that `POST /v1/orders` takes, each shape as an object schema of its own: generators of clients pass over
 * `properties` beside a union. The endpoint checks the same by one schema; a test compares the two.
 */

import { z } from 'zod';
import { clientOrderId } from '../../contract/fields.ts';
import { orderFields } from '../endpoints/order-request.ts';

/**
 * A member that must not be there. No value has this schema. Generators that pass over `not` make the member null,
 * which still keeps the shapes apart.
 */
const absent = (description: string) =>
  z
    .null()
    .optional()
    .meta({ not: { type: 'null' }, description });

const { size, quoteAmount } = orderFields;

const orderBySize = z.object({ ...orderFields, size, quoteAmount: absent('never beside `size`') }).meta({
  title: 'Order by size',
  examples: [
    { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 2000, size: 1, clientOrderId: 'my-order-1' },
  ],
});

const orderByQuoteAmount = z
  .object({
    ...orderFields,
    side: z.literal('buy'),
    type: z.literal('market'),
    size: absent('never beside `quoteAmount`'),
    quoteAmount,
  })
  .meta({
    title: 'Order by quote amount',
    examples: [{ market: 'ETH/USDC', side: 'buy', type: 'market', quoteAmount: '250.5' }],
  });

const orderLookup = z
  .strictObject({
    clientOrderId: clientOrderId.describe('client order id of the order to look up'),
    side: absent('a body with a side is an order'),
  })
  .meta({
    title: 'Look-up by client order id',
    description: 'Places nothing: the reply is that of a replay, and an unknown id is refused.',
    examples: [{ clientOrderId: 'my-order-1' }],
  });

/** By name in the document. No body has two of these shapes. */
export const ORDER_BODIES = {
  OrderBySize: orderBySize,
  OrderByQuoteAmount: orderByQuoteAmount,
  OrderLookup: orderLookup,
};
