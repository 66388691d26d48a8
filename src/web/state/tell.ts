/**
 * Tells the reader what happens to the own orders: fills and endings, by voice and on the screen, by a count on the tab
 * and in the title, and by a sound and a notification of the system if the reader wants those.
 */

import { effect, type Signal, signal } from '@preact/signals';
import type { Order, OrderChange } from '../../client/index.ts';
import type { Market } from '../../domain/market.ts';
import { isLive } from '../../domain/order.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import { fillsWords, progressOf } from '../figures/progress-words.ts';
import { isEndedHere, refreshSoon, shownName, shownTable } from './account.ts';
import { announce } from './announcements.ts';
import { visible } from './clock.ts';
import { kept } from './kept-choice.ts';
import { marketOf } from './markets.ts';
import { shownWithin } from './number-style.ts';
import { followOrders } from './order-changes.ts';
import { session } from './session.ts';
import { followSubmission, isReplacedHere, isSubmitted } from './submissions.ts';

export const SIGNALS = ['none', 'sound', 'notice', 'both'] as const;

/** Further signs of a fill or an ending. */
export const signs: Signal<(typeof SIGNALS)[number]> = kept('signs', SIGNALS, 'none');

/** Number of fills that the reader has not seen in their table yet. */
export const unseenFills: Signal<number> = signal(0);

/** Maximum sentences that are told together. */
const MAX_TOLD = 3;

/** Orders whose ending was told: changes that led to it may follow. The oldest are forgotten. */
const told = new Set<string>();
const MAX_REMEMBERED = 1_000;

const rulesFor = (symbol: string): Market | undefined => {
  const market = marketOf(symbol);
  return market && rulesOf(market);
};

/** True for the placement of an order. Its fills are those that it took. */
const isPlacement = ({ at, order, fills }: OrderChange): boolean =>
  at === order.createdAt && fills.every(({ role }) => role === 'taker');

/** Words an order that has ended, or its new fills. Null when the page has said so, or says so elsewhere. */
function sentenceOf(changes: readonly OrderChange[]): string | null {
  const { order } = changes.at(-1)!;
  if (told.has(order.id)) return null;
  if (!isLive(order.status) && !changes.every(isPlacement)) {
    told.add(order.id);
    for (const oldest of told) if (told.size > MAX_REMEMBERED) told.delete(oldest);
    // The answer to a click of this page tells of it.
    return isEndedHere(order) || isReplacedHere(order) ? null : endSentence(order);
  }
  const answered = isSubmitted(order) ? changes.filter((change) => !isPlacement(change)) : changes;
  const fills = answered.flatMap((change) => change.fills);
  return fills.length === 0 ? null : fillSentence(order, fills);
}

/** Words new fills of an order that is still open, or of one that was placed elsewhere. */
function fillSentence({ market, side }: Order, fills: OrderChange['fills']): string {
  const rules = rulesFor(market);
  const [{ size, price }] = fills as [OrderChange['fills'][number]];
  const words =
    (rules && fillsWords(side, fills, rules)) ?? `A ${side} order was filled: ${size} at ${price}`;
  return `${shownWithin(words)}.`;
}

const endSentence = (order: Order): string => {
  const ended = order.status === 'filled' ? 'is filled' : 'has ended';
  const name = shownName({ ...order, remainingSize: order.size });
  return `Your order to ${name} ${ended}: ${shownWithin(progressOf(order, rulesFor(order.market)))}.`;
};

/** @param isSigned true in the one tab of the browser that gives the further signs */
function takeChanges(changes: readonly OrderChange[], isSigned: boolean): void {
  refreshSoon();
  const byOrder = new Map<string, OrderChange[]>();
  for (const change of changes) {
    const { order } = change;
    byOrder.set(order.id, [...(byOrder.get(order.id) ?? []), change]);
  }
  const sentences: string[] = [];
  for (const ofOrder of byOrder.values()) {
    const { order } = ofOrder.at(-1)!;
    const sentence = sentenceOf(ofOrder);
    if (sentence !== null) sentences.push(sentence);
    followSubmission(order, shownWithin(progressOf(order, rulesFor(order.market))));
  }
  const count = changes.reduce((sum, { fills }) => sum + fills.length, 0);
  if (shownTable.peek() !== 'fills' || !visible.peek()) unseenFills.value += count;
  if (sentences.length > 0) tell(sentences, isSigned);
}

function tell(sentences: readonly string[], isSigned: boolean): void {
  const more = sentences.length - MAX_TOLD;
  const text = [...sentences.slice(0, MAX_TOLD), ...(more > 0 ? [`And ${more} more.`] : [])].join(' ');
  announce(isSigned ? giveSigns(text, signs.peek()) : text);
}

/** Gives further signs of a sentence, and returns the sentence that the page tells. */
export function giveSigns(text: string, wanted: (typeof SIGNALS)[number]): string {
  if (wanted === 'sound' || wanted === 'both') beep();
  return wanted === 'notice' || wanted === 'both' ? text + notify(text) : text;
}

function beep(): void {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const volume = context.createGain();
  volume.gain.value = 0.1;
  tone.connect(volume).connect(context.destination);
  tone.onended = () => void context.close();
  tone.start();
  tone.stop(context.currentTime + 0.15);
}

let hasSaidNone = false;

/** Says once that there are no notifications: whoever chose them would wait for them in vain. */
function sayNone(why: string): string {
  if (hasSaidNone) return '';
  hasSaidNone = true;
  return ` There are no notifications: ${why}.`;
}

/**
 * Browsers refuse notifications without permission, and some phones know none of this kind.
 * @returns what the reader should know besides
 */
function notify(text: string): string {
  if (!('Notification' in window)) return sayNone('this browser knows none');
  if (Notification.permission === 'denied') return sayNone('this browser was told to refuse them');
  try {
    const notice = new Notification('Redbook', { body: text, tag: 'redbook' });
    notice.onclick = () => window.focus();
    return '';
  } catch {
    return sayNone('this browser makes none for pages');
  }
}

/** Chooses further signs, and asks the browser for its permission where they need one. */
export function chooseSigns(chosen: (typeof SIGNALS)[number]): void {
  signs.value = chosen;
  if (chosen === 'notice' || chosen === 'both') askPermission();
}

/** Asks the browser for its permission to notify, which it grants or refuses once. */
export function askPermission(): void {
  if ('Notification' in window) void Notification.requestPermission();
}

/** Tells what happens for as long as the page is open. */
export function startTelling(): void {
  followOrders(takeChanges);
  effect(() => {
    if (shownTable.value === 'fills' && visible.value) unseenFills.value = 0;
  });
  effect(() => {
    if (session.value === null) unseenFills.value = 0;
  });
}
