/** Orders that were sent, with their outcomes. */

import { type Signal, signal } from '@preact/signals';
import {
  type NewOrder,
  type Order,
  type OrderUnknown,
  type Placed,
  place,
  RedbookError,
} from '../../client/index.ts';
import { fieldOf, type Problem } from '../figures/draft-request.ts';
import { refreshAccount } from './account.ts';
import { announce } from './announcements.ts';
import { clearSent, typedAt } from './order-draft.ts';
import { endAfter, session } from './session.ts';
import { askForTerms } from './terms.ts';

/** An order on its way, or its end. */
interface Submission {
  readonly key: number;
  /** The order as a sentence. */
  readonly words: string;
  readonly stage: 'sending' | 'looking-up' | 'placed' | 'refused' | 'unknown';
  readonly text: string;
  /** Looks up an order of unknown outcome once more. */
  readonly lookUp: (() => Promise<void>) | null;
}

/** Newest first. */
export const submissions: Signal<readonly Submission[]> = signal([]);

/** A refusal of the service, beside the field it is about, until the field is edited. */
export const serverProblem: Signal<Problem | null> = signal(null);

/** True until the order that was sent last is answered, or is being looked up. */
export const isSending: Signal<boolean> = signal(false);

/** Milliseconds after an answer in which a press may belong to a double click. */
const DOUBLE_CLICK_MS = 600;

let sent = 0;
let answeredAt = Number.NEGATIVE_INFINITY;

/** True for the second press of a double click: the reader has typed nothing since the answer to the first. */
export const isSecondPress = (): boolean =>
  performance.now() - answeredAt < DOUBLE_CLICK_MS && typedAt() < answeredAt;

/** Returns an order with the same words whose outcome is not known yet. */
export const unsettledLike = (words: string): boolean =>
  submissions.value.some(
    (one) => one.words === words && (one.stage === 'looking-up' || one.stage === 'unknown'),
  );

function show(key: number, change: Partial<Submission>): void {
  submissions.value = submissions.value.map((one) => (one.key === key ? { ...one, ...change } : one));
}

export function dismiss(key: number): void {
  submissions.value = submissions.value.filter((one) => one.key !== key);
}

const isSettled = ({ stage }: Submission): boolean => stage === 'placed' || stage === 'refused';

/** Returns the orders that stay on the screen beside a new one: those without a result, and the latest with one. */
function kept(): readonly Submission[] {
  const latest = submissions.value.find(isSettled);
  return submissions.value.filter((one) => one === latest || !isSettled(one));
}

function release(): void {
  isSending.value = false;
  answeredAt = performance.now();
}

/** Sends an order. A call while another one is unanswered sends nothing. @param words the order as a sentence */
export async function submitOrder(order: NewOrder, words: string): Promise<void> {
  const asked = session.peek();
  if (asked === null || isSending.value) return;
  isSending.value = true;
  serverProblem.value = null;
  sent += 1;
  const key = sent;
  const first: Submission = { key, words, stage: 'sending', text: 'sending…', lookUp: null };
  submissions.value = [first, ...kept()];
  const startedAt = performance.now();
  const took = (): string => `answered in ${Math.max(1, Math.round(performance.now() - startedAt))} ms`;
  let isLookedUp = false;
  try {
    const placed = await place(asked, order, {
      onLookup({ clientOrderId, error }) {
        if (isLookedUp) return;
        isLookedUp = true;
        release();
        const text = `${isPaused(error) ? 'trading is paused' : 'no answer'}: looking it up (id ${clientOrderId})`;
        show(key, { stage: 'looking-up', text });
        announce(`${words} ${text}`, 'alert');
      },
    });
    settle({ key, words, order }, placed, isLookedUp ? 'found' : took());
    if (placed.outcome === 'refused') endAfter(placed.error, asked);
  } catch (thrown) {
    // Nothing was sent.
    const text = thrown instanceof RedbookError ? thrown.message : 'the order could not be sent';
    show(key, { stage: 'refused', text: `not sent: ${text}` });
    if (!endAfter(thrown, asked)) announce(`Not sent: ${text}.`, 'alert');
  } finally {
    if (!isLookedUp) release();
    void refreshAccount();
  }
}

/** An order that was sent, and where it is shown. */
interface Sent {
  readonly key: number;
  readonly words: string;
  readonly order: NewOrder;
}

/** @param how long the answer took, or that it was found */
function settle(one: Sent, placed: Placed, how: string): void {
  switch (placed.outcome) {
    case 'placed': {
      const text = `${how}: ${progressOf(placed.order)}`;
      show(one.key, { stage: 'placed', text, lookUp: null });
      announce(`${capital(text)}. ${one.words}`);
      clearSent(one.order);
      break;
    }
    case 'refused':
      refuse(one, placed.error, how);
      break;
    case 'duplicate':
      refuseId(one, placed.order, how);
      break;
    case 'unknown':
      leaveOpen(one, placed);
      break;
  }
}

function leaveOpen(one: Sent, placed: OrderUnknown): void {
  const { clientOrderId, error } = placed;
  const text = isPaused(error)
    ? `not placed: trading is paused, and there is no order with the id ${clientOrderId}`
    : `outcome unknown: no answer, and no order with the id ${clientOrderId} was found yet`;
  const lookUp = async (): Promise<void> => {
    show(one.key, { stage: 'looking-up', text: `looking it up (id ${clientOrderId})`, lookUp: null });
    settle(one, await placed.lookUp().catch(() => placed), 'found');
    void refreshAccount();
  };
  show(one.key, { stage: 'unknown', text, lookUp });
  announce(`${capital(text)}. You can look it up again.`, 'alert');
}

function refuse({ key, order }: Sent, { code, message }: RedbookError, how: string): void {
  show(key, { stage: 'refused', text: `${how}: refused, ${code}`, lookUp: null });
  const isQuote = order.quoteAmount !== undefined;
  serverProblem.value = { field: fieldOf(code, message, isQuote), code, message };
  if (code === 'STALE_TERMS_VERSION') void askForTerms();
  else if (code !== 'UNAUTHORIZED') announce(`Refused: ${message}.`, 'alert');
}

/** Tells that the id of an order stands for another one. */
function refuseId({ key }: Sent, order: Order, how: string): void {
  const { market, side, type, price, size, createdAt, status } = order;
  const at = type === 'limit' ? `at ${price}` : 'at the prices of the book';
  const other = `${side} ${size} ${market.split('/')[0]} ${at}, ${status.replaceAll('_', ' ')}`;
  const message = `this id stands for another order of ${new Date(createdAt).toLocaleString()}: ${other}. Nothing was placed`;
  show(key, { stage: 'refused', text: `${how}: ${message}`, lookUp: null });
  serverProblem.value = { field: 'clientOrderId', code: 'DUPLICATE_ORDER_ID', message };
  announce(`${capital(message)}.`, 'alert');
}

/** True when the service placed nothing because trading is paused. */
const isPaused = ({ code }: RedbookError): boolean => code === 'OPERATIONAL_PAUSED';

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Describes the progress of an order in words. */
function progressOf({ status, filledSize, remainingSize }: Order): string {
  switch (status) {
    case 'resting':
    case 'open':
      return 'resting';
    case 'partially_filled':
      return `filled ${filledSize}, resting ${remainingSize}`;
    case 'filled':
      return `filled ${filledSize}`;
    case 'partially_filled_cancelled':
      return `filled ${filledSize}, dropped ${remainingSize}`;
    case 'expired':
      return 'expired, nothing was filled';
    default:
      return status;
  }
}
