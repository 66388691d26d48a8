/** Orders that were sent, with their outcomes. */

import { effect, type Signal, signal, untracked } from '@preact/signals';
import { randomId } from '../../client/connection.ts';
import {
  compare,
  type Order,
  type OrderUnknown,
  type Placed,
  type PlaceOptions,
  place,
  RedbookError,
  replace,
  subtract,
} from '../../client/index.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import { momentText } from '../figures/clock-text.ts';
import { fieldOf, type Problem } from '../figures/draft-request.ts';
import { progressOf } from '../figures/progress-words.ts';
import { refusalWords } from '../figures/refusal-words.ts';
import { openOrders, readAt, refreshAccount, shownName } from './account.ts';
import { announce } from './announcements.ts';
import { connection } from './connection.ts';
import { marketOf, readMarkets } from './markets.ts';
import { shown, shownWithin, written } from './number-style.ts';
import { clearSent, typedAt } from './order-draft.ts';
import { type Move, movedOrder, type Sendable } from './order-preview.ts';
import { confirmedAct } from './question.ts';
import { endAfter, session } from './session.ts';
import { askForTerms } from './terms.ts';

/** An order on its way, or its end. */
interface Submission {
  readonly key: number;
  /** The order as a sentence. */
  readonly words: string;
  /** The same for orders of the same draft. */
  readonly likeness: string;
  readonly stage: 'sending' | 'looking-up' | 'placed' | 'refused' | 'unknown';
  readonly text: string;
  readonly clientOrderId: string;
  /** Id of the live order that it replaces; null for an order of the form. */
  readonly replaces: string | null;
  /** Acts that can end an unknown outcome. */
  readonly open: Open | null;
}

/** An order of unknown outcome. */
interface Open {
  /** Looks the order up once more. */
  readonly lookUp: () => Promise<void>;
  /** Looks it up, and says something only if the outcome is known now. */
  readonly lookUpQuietly: () => Promise<void>;
  /** Sends the same order under the same id: at most one of them is ever placed. */
  readonly sendAgain: () => Promise<void>;
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

/** Returns the order that the page has sent under this id. */
const sentAs = ({ clientOrderId }: Order): Submission | undefined =>
  submissions.peek().find((one) => one.clientOrderId === clientOrderId && one.stage !== 'refused');

/** True for an order that was sent from this page, and whose result is on the screen or will be. */
export const isSubmitted = (order: Order): boolean => sentAs(order) !== undefined;

/** True for an order that another one of this page has replaced, or is about to. */
export const isReplacedHere = ({ id, reason }: Order): boolean =>
  reason === 'replaced' && submissions.peek().some(({ replaces }) => replaces === id);

/** Shows the present progress of an order with its sentence, as long as that is on the screen. */
export function followSubmission(order: Order, text: string): void {
  const shown = sentAs(order);
  if (shown?.stage === 'unknown') void shown.open?.lookUpQuietly();
  if (shown?.stage === 'placed' && !shown.text.endsWith(text)) show(shown.key, { text });
}

/** Returns an order of the same draft whose outcome is not known yet. */
export const unsettledLike = (likeness: string): Submission | undefined =>
  submissions.value.find(
    (one) => one.likeness === likeness && (one.stage === 'looking-up' || one.stage === 'unknown'),
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

/** Sends an order. A call while another one is unanswered sends nothing. */
export async function submitOrder(sendable: Sendable): Promise<void> {
  const asked = session.peek();
  if (asked === null || isSending.value) return;
  isSending.value = true;
  serverProblem.value = null;
  sent += 1;
  const key = sent;
  const { words, likeness, replaces } = sendable;
  // A change of the order may be told before the answer, and is recognised by this id.
  const order = {
    ...sendable.order,
    clientOrderId: sendable.order.clientOrderId ?? sendable.idBegin + randomId(connection),
  };
  const { clientOrderId } = order;
  const shown = { key, words, likeness, clientOrderId, replaces: replaces?.id ?? null, open: null };
  submissions.value = [{ ...shown, stage: 'sending', text: 'sending…' }, ...kept()];
  const startedAt = performance.now();
  const took = (): string => `answered in ${Math.max(1, Math.round(performance.now() - startedAt))} ms`;
  let isLookedUp = false;
  try {
    const options: PlaceOptions = {
      onLookup({ error }) {
        if (isLookedUp) return;
        isLookedUp = true;
        release();
        const text = `${isPaused(error) ? 'trading is paused' : 'no answer'}: looking it up (id ${clientOrderId})`;
        show(key, { stage: 'looking-up', text });
        announce(`${words} ${text}`, 'alert');
      },
    };
    const placed = await (replaces === undefined
      ? place(asked, order, options)
      : replace(asked, { orderId: replaces.id, filledSize: replaces.filledSize }, order, options));
    settle({ key, ...sendable }, placed, isLookedUp ? 'found' : took());
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
interface Sent extends Sendable {
  readonly key: number;
}

/** @param how long the answer took, or that it was found */
function settle(one: Sent, placed: Placed, how: string): void {
  switch (placed.outcome) {
    case 'placed': {
      const market = marketOf(placed.order.market);
      const text = `${how}: ${shownWithin(progressOf(placed.order, market && rulesOf(market)))}`;
      show(one.key, { stage: 'placed', text, open: null });
      announce(`${capital(text)}. ${one.words}`);
      if (one.replaces === undefined) clearSent(one.typed);
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
  const follow = async (doing: string, next: Promise<Placed>): Promise<void> => {
    show(one.key, { stage: 'looking-up', text: `${doing} (id ${clientOrderId})`, open: null });
    settle(one, await next.catch(() => placed), 'found');
    void refreshAccount();
  };
  let isLookedUp = false;
  show(one.key, {
    stage: 'unknown',
    text,
    open: {
      lookUp: () => follow('looking it up', placed.lookUp()),
      sendAgain: () => follow('sending the same order again', placed.sendAgain()),
      async lookUpQuietly() {
        if (isLookedUp) return;
        isLookedUp = true;
        const found = await placed.lookUp().catch(() => placed);
        isLookedUp = false;
        const isOpen = submissions.peek().some(({ key, stage }) => key === one.key && stage === 'unknown');
        if (found.outcome !== 'unknown' && isOpen) settle(one, found, 'found');
      },
    },
  });
  announce(`${capital(text)}. It is looked up again as soon as the service answers.`, 'alert');
}

/** Pause between the look-ups of an order of unknown outcome. */
const LOOKUP_PAUSE_MS = 10_000;

/** Looks orders of unknown outcome up again when the service answers, for as long as the page is open. */
export function startLookups(): void {
  let before = Number.NEGATIVE_INFINITY;
  effect(() => {
    const at = readAt.value;
    if (at === null || at - before < LOOKUP_PAUSE_MS) return;
    before = at;
    for (const { open } of submissions.peek()) void open?.lookUpQuietly();
  });
}

function refuse({ key, typed, replaces, move }: Sent, { code, message }: RedbookError, how: string): void {
  if (code === 'DEADLINE_PASSED') {
    const text = 'not placed: the exchange had not begun it by its deadline, and will not';
    show(key, { stage: 'refused', text, open: null });
    announce(`${capital(text)}.`, 'alert');
    return;
  }
  if (replaces !== undefined && move !== undefined && code === 'CONFLICT') {
    const text = `not moved: the order to ${shownName(replaces)} was filled meanwhile`;
    show(key, { stage: 'refused', text, open: null });
    announce(`${capital(text)}.`, 'alert');
    void moveAnew(replaces, move);
    return;
  }
  if (replaces !== undefined) {
    const text = `refused, the order to ${shownName(replaces)} stays: ${refusalWords(code, message)}`;
    show(key, { stage: 'refused', text, open: null });
    announce(`${capital(text)}.`, 'alert');
    return;
  }
  const words = refusalWords(code, message);
  show(key, { stage: 'refused', text: `${how}: refused, ${words}`, open: null });
  serverProblem.value = { field: fieldOf(code, message, typed.size === ''), code, message: words };
  if (code === 'MARKET_NOT_TRADING' || code === 'MARKET_PRE_OPEN') void readMarkets();
  if (code === 'STALE_TERMS_VERSION') void askForTerms();
  else if (code !== 'UNAUTHORIZED') announce(`Refused: ${words}.`, 'alert');
}

/** Tells that the id of an order stands for another one. */
function refuseId({ key }: Sent, order: Order, how: string): void {
  const { market, side, type, price, size, createdAt, status } = order;
  const at = type === 'limit' ? `at ${price}` : 'at the prices of the book';
  const other = `${side} ${size} ${market.split('/')[0]} ${at}, ${status.replaceAll('_', ' ')}`;
  const message = `this id stands for another order of ${momentText(new Date(createdAt))}: ${other}. Nothing was placed`;
  show(key, { stage: 'refused', text: `${how}: ${message}`, open: null });
  serverProblem.value = { field: 'clientOrderId', code: 'DUPLICATE_ORDER_ID', message };
  announce(`${capital(message)}.`, 'alert');
}

/** True when the service placed nothing because trading is paused. */
const isPaused = ({ code }: RedbookError): boolean => code === 'OPERATIONAL_PAUSED';

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * Returns what a move makes of an order as it is now, or the reason why nothing.
 * @param seen the order as it was when the move was typed: what was filled since then is no part of the size
 * @param size a plain decimal
 */
function moveNow(seen: Order, { price, size }: Move): Sendable | string {
  const now = openOrders.value.find(({ id }) => id === seen.id);
  if (now === undefined) return `the order to ${shownName(seen)} has ended`;
  if (size === undefined) return movedOrder(now, { price });
  const filled = subtract(now.filledSize, seen.filledSize);
  return compare(size, filled) > 0
    ? movedOrder(now, { price, size: written(subtract(size, filled)) })
    : `${shown(filled)} of the order to ${shownName(seen)} was filled meanwhile`;
}

/** Makes a move again that the service refused because the order had filled more than the page knew. */
async function moveAnew(seen: Order, move: Move): Promise<void> {
  await refreshAccount();
  const now = openOrders.peek().find(({ id }) => id === seen.id);
  if (now !== undefined && now.filledSize !== seen.filledSize) await moveOrder(seen, move);
}

/** Replaces a live order by one at another price or of another size, after a question about what is left of it. */
export async function moveOrder(seen: Order, typed: Move): Promise<void> {
  const first = untracked(() => movedOrder(seen, typed));
  if (typeof first === 'string') return announce(`Not moved: ${first}.`, 'alert');
  const { price, size } = first.order;
  const isSized = size !== seen.remainingSize;
  if (price === seen.price && !isSized) return;
  if (unsettledLike(first.likeness) !== undefined)
    return announce('Not moved: the outcome of the same move is not known yet.', 'alert');
  const move: Move = { price: written(price!), ...(isSized && { size: size! }) };
  const act = await confirmedAct(() => {
    const moved = moveNow(seen, move);
    return typeof moved === 'string' ? null : moved;
  });
  if (act === 'no') return;
  if (act !== 'gone') return submitOrder(act);
  const reason = moveNow(seen, move);
  announce(`Not moved: ${typeof reason === 'string' ? reason : 'another wallet is signed in'}.`, 'alert');
}
