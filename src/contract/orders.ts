/** Schemas of orders, fills and wallet trades: docs/api.md 2.5 to 2.7. */

import { z } from 'zod';
import { END_REASONS, type EndReason, ORDER_STATUSES } from '../domain/order.ts';
import { nextCursor } from './cursor.ts';
import { amount, assetSymbol, marketSymbol, side, timestamp, wallet } from './values.ts';

const orderId = z.string().min(1).describe('opaque');
const clientOrderId = z.string().min(1).max(128).nullable();
const tradeId = z.string().regex(/^\d+$/).describe('id that both sides and the public trade share');

const execution = {
  role: z.enum(['maker', 'taker']),
  price: amount,
  size: amount,
  notional: amount.describe('price x size in the quote asset, exact'),
  feeAmount: amount.describe('fee paid by this side; 0 for a maker'),
  feeAsset: assetSymbol,
};

const FILL = {
  id: '281474976710657',
  orderId: '00000000000001d4c0000000000000002a',
  role: 'taker',
  price: 2000,
  size: 0.4,
  notional: 800,
  feeAmount: 0.8,
  feeAsset: 'USDC',
  createdAt: '2026-01-05T09:30:00.000Z',
};

export const fillSchema = z
  .strictObject({ id: tradeId, orderId, ...execution, createdAt: timestamp })
  .meta({ description: 'One side of a trade.', examples: [FILL] });

const ORDER = {
  id: FILL.orderId,
  market: 'ETH/USDC',
  side: 'buy',
  type: 'limit',
  timeInForce: 'GTC',
  postOnly: false,
  price: 2000,
  size: 1,
  filledSize: 0.4,
  remainingSize: 0.6,
  status: 'partially_filled',
  reason: null,
  clientOrderId: 'my-order-1',
  createdAt: FILL.createdAt,
  updatedAt: FILL.createdAt,
  fillCount: 1,
  fills: [FILL],
};

const reason = z
  .enum(Object.keys(END_REASONS) as EndReason[])
  .nullable()
  .describe(
    'why the order ended; null while it is live, when it is filled, and when it ended under a release that did not ' +
      'record it. The order ended because: ' +
      Object.entries(END_REASONS)
        .map(([code, meaning]) => `\`${code}\` ${meaning}`)
        .join('; '),
  );

export const orderSchema = z
  .strictObject({
    id: orderId,
    market: marketSymbol,
    side,
    type: z.enum(['limit', 'market']),
    timeInForce: z.enum(['GTC', 'IOC', 'FOK']),
    postOnly: z.boolean(),
    price: amount.nullable().describe('limit price; null on a market order'),
    size: amount.describe(
      'size in base units; for an order by quote amount, the size in whole steps that the amount was converted to',
    ),
    filledSize: amount,
    remainingSize: amount,
    status: z
      .enum(ORDER_STATUSES)
      .describe('`open`, `resting` and `partially_filled` orders are live; all other statuses are terminal'),
    reason,
    clientOrderId: clientOrderId.describe('null if the request had none'),
    createdAt: timestamp,
    updatedAt: timestamp.describe('time of the last change of status or fills; ISO 8601'),
    fillCount: z.int().min(0).describe('number of all fills of the order'),
    fills: z
      .array(fillSchema)
      .describe(
        'newest fills of the order, in the order of execution, 1,000 at most by default. A list whose fills pass ' +
          '5,000 in all ends there, with a `nextCursor`. `GET /v1/trades?orderId=` returns all fills.',
      ),
  })
  .meta({ examples: [ORDER] });

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
    examples: [{ ...ORDER, accepted: true, order: ORDER }],
  });

export const ordersSchema = z.strictObject({ orders: z.array(orderSchema).max(100), nextCursor });

export const orderReplySchema = z.strictObject({ order: orderSchema });

const CLOSED = {
  id: ORDER.id,
  clientOrderId: 'my-order-1',
  market: 'ETH/USDC',
  status: 'partially_filled_cancelled',
  reason: 'user_cancelled',
};

export const closedOrderSchema = z
  .strictObject({
    id: orderId,
    clientOrderId,
    market: marketSymbol,
    status: z.enum(['cancelled', 'partially_filled_cancelled']),
    reason,
  })
  .meta({ examples: [CLOSED] });

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
        role: 'taker',
        price: 2000,
        size: 0.4,
        notional: 800,
        feeAmount: 0.8,
        feeAsset: 'USDC',
        counterparty: '0x52908400098527886e0f7030069857d2e4169ee7',
        createdAt: FILL.createdAt,
      },
    ],
  });

export const walletTradesSchema = z.strictObject({ trades: z.array(walletTradeSchema).max(500), nextCursor });
