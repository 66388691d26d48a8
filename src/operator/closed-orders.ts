/** Orders that a command took off the book. */

import { z } from 'zod';
import { marketSymbol, wallet } from '../contract/values.ts';
import type { Plain } from '../contract/written.ts';
import { column, renderTable } from '../terminal/table.ts';
import { replyNames } from './operation.ts';
import type { CommandResult } from './verb.ts';

const COLUMNS = [
  column('ORDER'),
  column('WALLET'),
  column('MARKET'),
  column('STATUS'),
  column('CLIENT ORDER ID'),
];

export const endedOrderSchema = z
  .strictObject({
    id: z.string(),
    wallet,
    market: marketSymbol,
    clientOrderId: z.string().nullable(),
    status: z.string(),
    reason: z.string().nullable(),
  })
  .register(replyNames, { id: 'EndedOrder' });

/** Members of the reply of an act that took orders off the book. */
export const endedOrders = { cancelled: z.array(endedOrderSchema), count: z.int().min(0) };

type EndedOrder = Plain<typeof endedOrderSchema>;

/**
 * Returns the answer of a command that took orders off the book.
 * @param sentence result of the command, like `ETH/USDC is clear`
 */
export const closedOrders = (
  sentence: string,
  orders: readonly EndedOrder[],
  facts: object,
): CommandResult => ({
  document: {
    ...facts,
    cancelled: orders,
    count: orders.length,
  },
  text: (paint) =>
    `${sentence}: ${orders.length} live ${orders.length === 1 ? 'order' : 'orders'} cancelled\n` +
    (orders.length === 0
      ? ''
      : renderTable(
          COLUMNS,
          orders.map((order) => [
            order.id,
            order.wallet,
            order.market,
            order.status,
            order.clientOrderId ?? '-',
          ]),
          paint,
        )),
});
