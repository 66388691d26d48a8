/** The order that the form is about to send, as the reader typed it. */

import { batch, signal } from '@preact/signals';
import type { OrderType, Side, TimeInForce } from '../../domain/order.ts';
import { written } from './number-style.ts';

/** The fields that take an amount. */
export type AmountField = 'price' | 'size' | 'amount';

/** Texts stay as typed; `figures/draft-request.ts` reads them. */
export const draft = {
  side: signal<Side>('buy'),
  type: signal<OrderType>('limit'),
  price: signal(''),
  size: signal(''),
  /** The quote amount that the order is worth. The form keeps either this or the size empty. */
  amount: signal(''),
  /** Per cent of the available balance that the size was last set to. */
  share: signal(0),
  timeInForce: signal<TimeInForce>('GTC'),
  postOnly: signal(false),
  clientOrderId: signal(''),
};

/** The field that the next render of the form focuses. */
export const focusRequest = signal<AmountField | null>(null);

export function chooseSide(side: Side): void {
  draft.side.value = side;
}

export function chooseType(type: OrderType): void {
  batch(() => {
    draft.type.value = type;
    if (type === 'market') draft.postOnly.value = false;
  });
}

/** Post-only orders rest, so their time in force is GTC. */
export function choosePostOnly(isPostOnly: boolean): void {
  batch(() => {
    draft.postOnly.value = isPostOnly;
    if (isPostOnly) draft.timeInForce.value = 'GTC';
  });
}

export function chooseTimeInForce(timeInForce: TimeInForce): void {
  batch(() => {
    draft.timeInForce.value = timeInForce;
    if (timeInForce !== 'GTC') draft.postOnly.value = false;
  });
}

let lastTypedAt = Number.NEGATIVE_INFINITY;

/** Returns the time at which a field was last typed into, by `performance.now()`. */
export const typedAt = (): number => lastTypedAt;

/** Types into a field. An order has a size or a quote amount, so writing one empties the other. */
export function typeInto(field: AmountField, text: string): void {
  lastTypedAt = performance.now();
  batch(() => {
    draft[field].value = text;
    if (field !== 'price') draft.share.value = 0;
    if (text === '') return;
    if (field === 'amount') draft.size.value = '';
    if (field === 'size') draft.amount.value = '';
  });
}

/** Writes a plain decimal into a field. */
export const fillIn = (field: AmountField, decimal: string): void => typeInto(field, written(decimal));

/** A row of the book that was clicked. */
interface ClickedRow {
  /** Decimal text. */
  readonly price: string;
  /** Sum of the sizes up to the row, when the reader clicked it. */
  readonly size?: string;
  /** Side of an order that takes the row, when the click chooses it. */
  readonly side?: Side;
}

/** Puts a row of the book into the form and makes the order a limit order. */
export function fillFromBook({ price, size, side }: ClickedRow): void {
  batch(() => {
    chooseType('limit');
    if (side !== undefined) chooseSide(side);
    fillIn('price', price);
    if (size !== undefined) fillIn('size', size);
    focusRequest.value = 'size';
  });
}

/** Texts that the reader typed, by field. */
export interface Typed {
  readonly size: string;
  readonly amount: string;
}

/** Empties what an answered order leaves behind, unless the reader has typed something since. */
export function clearSent({ size, amount }: Typed): void {
  batch(() => {
    if (draft.size.value === size) draft.size.value = '';
    if (draft.amount.value === amount) draft.amount.value = '';
    draft.clientOrderId.value = '';
  });
}
