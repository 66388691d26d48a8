/** Loads the progress of orders of earlier batches, which the events of a batch change. */

import type { OrderStatus } from '../domain/order.ts';
import type { Progress } from './order-rows.ts';
import { type Statement, type TextRow, textArray } from './round-trip.ts';

export const loadOrders = (ids: readonly string[]): Statement[] =>
  ids.length === 0
    ? []
    : [
        {
          name: 'load orders',
          text: `
            select id, size_steps, filled_steps, fill_count, status, updated_at_ms, updated_sequence, closed_sequence
            from orders where id = any($1::text[])`,
          values: [textArray(ids)],
        },
      ];

/** @param rows rows of `loadOrders` */
export const progressOf = (rows: readonly TextRow[]): Map<string, Progress> =>
  new Map(
    rows.map(([id, size, filled, fills, status, updatedAt, updated, closed]) => [
      id!,
      {
        sizeSteps: BigInt(size!),
        filledSteps: BigInt(filled!),
        fillCount: Number(fills),
        status: status as OrderStatus,
        // An order that changes is live, and has no reason.
        reason: null,
        updatedAtMs: Number(updatedAt),
        updatedSequence: Number(updated),
        closedSequence: closed === null ? null : Number(closed),
      },
    ]),
  );
