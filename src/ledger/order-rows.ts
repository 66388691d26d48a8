/** Writes orders as rows of their table, each with a witness: a digest by which a reconcile finds a changed row. */

import { hash } from 'node:crypto';
import { type EndReason, type OrderTerms, rejectReasonOf } from '../domain/order.ts';
import type { OrderLife } from '../domain/order-life.ts';
import { NULL_FIELD, textField } from './copy.ts';
import { unitFields } from './market-units.ts';
import { storable } from './text.ts';

/** Progress of an order, and the events that changed and closed it. */
export interface Progress extends OrderLife {
  updatedSequence: number;
  /** Null while it is live. */
  closedSequence: number | null;
}

export interface NewOrderRow {
  readonly terms: OrderTerms;
  readonly progress: Progress;
  /** The digest of what never changes, once `orderRow` has written the row: the first half of the witness. */
  digest: string;
}

/** The columns of `orderRow`. */
export const ORDER_COLUMNS = `id, wallet, market, side, type, time_in_force, post_only, price_ticks, size_steps,
  created_at_ms, sequence, base, quote, base_atoms_per_step, quote_atoms_per_lot, reject_reason, leverage,
  client_order_id, filled_steps, fill_count, status, updated_at_ms, updated_sequence, closed_sequence, reason, witness`;

/** Characters of the base64 of a SHA-256 that a witness keeps: 132 bits. */
export const DIGEST_CHARACTERS = 22;

/** Returns the column `reason`. A rejected order has its reason in `reject_reason`, which never changes. */
export const reasonOf = (progress: Progress): EndReason | null =>
  rejectReasonOf(progress) === null ? progress.reason : null;

/** Returns the columns that never change, which the digest takes as they are written. */
function fixedFields(terms: OrderTerms, progress: Progress): string {
  const { id, wallet, market, side, type, timeInForce, postOnly, priceTicks, sizeSteps } = terms;
  const price = priceTicks ?? NULL_FIELD;
  return `${id}\t${wallet}\t${textField(market)}\t${side}\t${type}\t${timeInForce}\t${postOnly ? 't' : 'f'}\t${price}\t${
    sizeSteps
  }\t${terms.createdAtMs}\t${terms.sequence}\t${unitFields(terms.units)}\t${
    rejectReasonOf(progress) ?? NULL_FIELD
  }`;
}

function bitsOf(leverage: number): string {
  const bits = Buffer.allocUnsafe(8);
  bits.writeDoubleBE(leverage);
  return bits.toString('hex');
}

/** Returns the second half of a witness, a second copy of the columns that change. */
export function witnessOfProgress(progress: Progress): string {
  const { filledSteps, fillCount, status, updatedAtMs, updatedSequence, closedSequence } = progress;
  const reason = reasonOf(progress);
  return `/${filledSteps}/${fillCount}/${status}/${updatedAtMs}/${updatedSequence}/${closedSequence ?? '-'}${
    reason === null ? '' : `/${reason}`
  }`;
}

/** Returns the digest of all that never changes of an order. */
export const digestOfOrder = (content: string): string =>
  hash('sha256', content, 'base64').slice(0, DIGEST_CHARACTERS);

/** Returns the row of an order. `order_witness` in the database makes the same witness of it. */
export function orderRow(order: NewOrderRow): string {
  const { terms, progress } = order;
  const { leverage, clientOrderId } = terms;
  const fixed = fixedFields(terms, progress);
  const id = clientOrderId === null ? null : storable(clientOrderId);
  order.digest = digestOfOrder(
    `${fixed}\t${leverage === null ? NULL_FIELD : bitsOf(leverage)}${id === null ? '' : `\t${id}`}`,
  );
  return `${fixed}\t${leverage ?? NULL_FIELD}\t${id === null ? NULL_FIELD : textField(id)}\t${progress.filledSteps}\t${
    progress.fillCount
  }\t${progress.status}\t${progress.updatedAtMs}\t${progress.updatedSequence}\t${
    progress.closedSequence ?? NULL_FIELD
  }\t${reasonOf(progress) ?? NULL_FIELD}\t${order.digest}${witnessOfProgress(progress)}`;
}
