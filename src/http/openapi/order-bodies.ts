/**
 * Documents the bodies of `POST /v1/orders`. Each shape is a separate object schema, because client generators ignore
 * `properties` beside a union. The route checks all shapes with one schema; a test compares the two.
 */

import { z } from 'zod';
import { clientOrderId } from '../../contract/fields.ts';
import { replacedMembers, requestMembers } from '../../order/request.ts';

/** A member that must be absent, or null, which counts as absent. */
const absent = (description: string) => z.null().optional().describe(description);

const { size, quoteAmount } = requestMembers;

const orderBySize = z
  .object({ ...requestMembers, size, quoteAmount: absent('absent if `size` is present') })
  .meta({
    title: 'Order by size',
    examples: [
      { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 2000, size: 1, clientOrderId: 'my-order-1' },
    ],
  });

const orderByQuoteAmount = z
  .object({
    ...requestMembers,
    side: z.literal('buy'),
    type: z.literal('market'),
    size: absent('absent if `quoteAmount` is present'),
    quoteAmount,
  })
  .meta({
    title: 'Order by quote amount',
    examples: [{ market: 'ETH/USDC', side: 'buy', type: 'market', quoteAmount: '250.5' }],
  });

const orderLookup = z
  .strictObject({
    clientOrderId: clientOrderId.describe('client order id of the order to look up'),
    side: absent('absent in a look-up'),
  })
  .meta({
    title: 'Look-up by client order id',
    description: 'Places nothing. Replies as to a repeated request; refuses an unknown id.',
    examples: [{ clientOrderId: 'my-order-1' }],
  });

const target = { orderId: 'the id of a live order' };

/** Shapes of a replacement. It also names the order that it replaces. */
export const REPLACE_BODIES = {
  ReplacementBySize: orderBySize.extend(replacedMembers).meta({
    title: 'Replacement by size',
    examples: [{ ...target, market: 'ETH/USDC', side: 'buy', type: 'limit', price: 2001, size: 1 }],
  }),
  ReplacementByQuoteAmount: orderByQuoteAmount.extend(replacedMembers).meta({
    title: 'Replacement by quote amount',
    examples: [{ ...target, market: 'ETH/USDC', side: 'buy', type: 'market', quoteAmount: '250.5' }],
  }),
};

/** Shapes by name in the document. They are disjoint: no body matches two. */
export const ORDER_BODIES = {
  OrderBySize: orderBySize,
  OrderByQuoteAmount: orderByQuoteAmount,
  OrderLookup: orderLookup,
};
