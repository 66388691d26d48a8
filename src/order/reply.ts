/** Schemas of orders, fills and wallet trades in replies: docs/api.md 2.5 to 2.7. */

import { z } from 'zod';
import { nextCursor, placeCursor } from '../contract/cursor.ts';
import { errorSchema } from '../contract/errors.ts';
import { marketSymbol, side, timestamp, wallet } from '../contract/values.ts';
import { FIELDS, ORDER_EXAMPLE, SHOWN, schemasOf } from './fields.ts';
import { EXAMPLE_EXECUTION, execution, FILL, fillSchema, orderId, tradeId } from './fill.ts';

export { fillSchema } from './fill.ts';

export const orderSchema = z.strictObject(schemasOf(SHOWN, 'reply')).meta({ examples: [ORDER_EXAMPLE] });

const PLACED_EXAMPLE = { ...ORDER_EXAMPLE, accepted: true, order: ORDER_EXAMPLE };

const rejectReason = z.enum(['POST_ONLY_WOULD_CROSS', 'FOK_NOT_FILLED']);

export const placementSchema = orderSchema
  .extend({
    accepted: z
      .boolean()
      .describe('false if the matching engine refused the order; its status is then `rejected`'),
    order: orderSchema.describe('the same order again'),
    rejectCode: rejectReason
      .optional()
      .describe('present only if this request was refused; absent on a replay'),
    rejectReason: rejectReason.optional().describe('equal to `rejectCode`'),
  })
  .meta({
    description: 'The order. Its fields are repeated at the top level.',
    examples: [PLACED_EXAMPLE],
  });

const PLACING_RESULT = { ...PLACED_EXAMPLE, status: 200 };

/** The result of one of several orders. */
export const placingResultSchema = z
  .union([
    placementSchema.extend({ status: z.literal(200) }),
    errorSchema.extend({ status: z.int().min(400).max(599) }),
  ])
  .meta({
    description:
      'The placing reply, or an error. `status` is the HTTP status of an order by itself; `order.status` is that of the order.',
    examples: [PLACING_RESULT],
  });

export const orderBatchSchema = z
  .strictObject({
    results: z.array(placingResultSchema).max(50).describe('one for each of `orders`, in their order'),
  })
  .meta({ examples: [{ results: [PLACING_RESULT] }] });

export const ordersSchema = z.strictObject({ orders: z.array(orderSchema).max(100), nextCursor });

export const orderChangeSchema = z
  .strictObject({
    at: timestamp.describe('time of the change'),
    order: orderSchema.describe('the order as it is now: later changes of it may be in it already'),
    fills: z.array(fillSchema).describe('fills of this change, with the same limits as those of an order'),
  })
  .meta({ examples: [{ at: FILL.createdAt, order: ORDER_EXAMPLE, fills: [FILL] }] });

export const orderChangesSchema = z.strictObject({
  changes: z.array(orderChangeSchema).max(100).describe('in the order in which the engine made them'),
  cursor: placeCursor,
  more: z.boolean().describe('true if there are later changes already'),
});

export const orderReplySchema = z.strictObject({ order: orderSchema });

const CLOSED = {
  id: FILL.orderId,
  clientOrderId: 'my-order-1',
  market: 'ETH/USDC',
  status: 'partially_filled_cancelled',
  reason: 'user_cancelled',
};

export const closedOrderSchema = z
  .strictObject({
    id: orderId,
    clientOrderId: FIELDS.clientOrderId.reply.unwrap().nullable(),
    market: marketSymbol,
    status: z.enum(['cancelled', 'partially_filled_cancelled']),
    reason: FIELDS.reason.reply,
  })
  .meta({ examples: [CLOSED] });

export const replacementSchema = placementSchema
  .extend({
    replaced: closedOrderSchema
      .optional()
      .describe(
        'the order that was replaced; absent on a replay and when the matching engine refused the new one',
      ),
  })
  .meta({
    description: 'The new order, as placing it shows it, with the one that it replaced.',
    examples: [
      {
        ...PLACED_EXAMPLE,
        replaced: { ...CLOSED, id: `${FILL.orderId.slice(0, -1)}9`, reason: 'replaced' },
      },
    ],
  });

export const closedOrdersSchema = z.strictObject({
  cancelled: z.array(closedOrderSchema),
  count: z.int().min(0),
});

/** The result of one of several named orders. */
export const cancelResultSchema = z.union([
  closedOrderSchema.omit({ status: true }).extend({ status: z.literal(200), order: closedOrderSchema }),
  z.strictObject({ status: z.literal(400), error: z.string(), code: z.literal('ORDER_NOT_FOUND') }),
]);

export const cancelBatchSchema = z
  .strictObject({
    results: z
      .array(cancelResultSchema)
      .max(100)
      .describe('first those of `orderIds`, then those of `clientOrderIds`, in their order'),
  })
  .meta({ examples: [{ results: [{ ...CLOSED, status: 200, order: CLOSED }] }] });

export const cancelAfterSchema = z.strictObject({
  cancelAt: timestamp
    .nullable()
    .describe('time at which the orders will be cancelled; null while the switch is off'),
});

export const walletTradeSchema = z
  .strictObject({
    id: tradeId,
    orderId: orderId.describe("id of the wallet's order"),
    market: marketSymbol,
    side: side.describe('side of the wallet'),
    ...execution,
    counterparty: wallet,
    createdAt: timestamp,
  })
  .meta({
    description: "A trade, seen from the wallet's side.",
    examples: [
      {
        id: FILL.id,
        orderId: FILL.orderId,
        market: 'ETH/USDC',
        side: 'buy',
        ...EXAMPLE_EXECUTION,
        counterparty: '0x52908400098527886e0f7030069857d2e4169ee7',
        createdAt: FILL.createdAt,
      },
    ],
  });

export const walletTradesSchema = z.strictObject({ trades: z.array(walletTradeSchema).max(500), nextCursor });
