/** The order that the form is about to send, as the reader typed it. */

import { batch, signal } from '@preact/signals';
import type { OrderType, Side, TimeInForce } from '../../domain/order.ts';
import { plainAmount } from '../figures/draft-request.ts';

/** The fields that take an amount. */
export type AmountField = 'price' | 'size' | 'amount';

/** Texts stay as typed; `figures/draft-request.ts` reads them. */
export const draft = {
  side: signal<Side>('buy'),
  type: signal<OrderType>('limit'),
  price: signal(''),
  size: signal(''),
  /** The quote amount that a market buy spends. The form keeps either this or the size empty. */
  amount: signal(''),
  timeInForce: signal<TimeInForce>('GTC'),
  postOnly: signal(false),
  clientOrderId: signal(''),
};

/** The field that the next render of the form focuses. */
export const focusRequest = signal<AmountField | null>(null);

export function chooseSide(side: Side): void {
  draft.side.value = side;
  if (side === 'sell') draft.amount.value = '';
}

export function chooseType(type: OrderType): void {
  batch(() => {
    draft.type.value = type;
    if (type === 'market') draft.postOnly.value = false;
    else draft.amount.value = '';
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
    if (text === '') return;
    if (field === 'amount') draft.size.value = '';
    if (field === 'size') draft.amount.value = '';
  });
}

/** Puts the price of a book row into the form and makes the order a limit order. @param price decimal text */
export function fillPrice(price: string): void {
  batch(() => {
    chooseType('limit');
    draft.price.value = price;
    focusRequest.value = 'size';
  });
}

/** Empties the amounts, as after a change of the market. */
export function clearAmounts(): void {
  batch(() => {
    draft.price.value = '';
    draft.size.value = '';
    draft.amount.value = '';
    draft.clientOrderId.value = '';
  });
}

/** Empties what an answered order leaves behind, unless the reader has typed something since. */
export function clearSent(order: { readonly size?: string; readonly quoteAmount?: string }): void {
  batch(() => {
    if (order.size !== undefined && plainAmount(draft.size.value) === order.size) draft.size.value = '';
    if (order.quoteAmount !== undefined && plainAmount(draft.amount.value) === order.quoteAmount) {
      draft.amount.value = '';
    }
    draft.clientOrderId.value = '';
  });
}
