/**
 * Tells the reader what happens to the own orders: fills and endings, by voice and on the screen, by a count on the tab
 * and in the title, and by a sound and a notification of the system if the reader wants those.
 */

import { effect, type Signal, signal, untracked } from '@preact/signals';
import { getOrder, type Order, type Session, type WalletTrade } from '../../client/index.ts';
import type { Market } from '../../domain/market.ts';
import { isLive } from '../../domain/order.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import { type AccountState, newsBetween } from '../figures/account-news.ts';
import { fillsWords, progressOf } from '../figures/progress-words.ts';
import { cancelledHere, fills, nameOfOrder, openOrders, readAt, shownTable } from './account.ts';
import { announce } from './announcements.ts';
import { visible } from './clock.ts';
import { kept } from './kept-choice.ts';
import { marketOf } from './markets.ts';
import { session } from './session.ts';
import { followSubmission, isSubmitted } from './submissions.ts';

export const SIGNALS = ['none', 'sound', 'notice', 'both'] as const;

/** Further signs of a fill or an ending. */
export const signs: Signal<(typeof SIGNALS)[number]> = kept('signs', SIGNALS, 'none');

/** Number of fills that the reader has not seen in their table yet. */
export const unseenFills: Signal<number> = signal(0);

/** Most ended orders that are read one by one after one read, and most sentences that are told together. */
const MAX_READ = 10;
const MAX_TOLD = 3;

const rulesFor = (symbol: string): Market | undefined => {
  const market = marketOf(symbol);
  return market && rulesOf(market);
};

/** Words new fills of an order that is still open, or of one that was placed elsewhere. */
function fillSentence(trades: readonly WalletTrade[]): string {
  const [{ market, side, price, size }] = trades as [WalletTrade];
  const rules = rulesFor(market);
  return `${(rules && fillsWords(side, trades, rules)) ?? `A ${side} order was filled: ${size} at ${price}`}.`;
}

const endSentence = (order: Order): string =>
  `Your order to ${nameOfOrder({ ...order, remainingSize: order.size })} has ended: ` +
  `${progressOf(order, rulesFor(order.market))}.`;

/** Reads the present state of orders that are no longer listed. Those that cannot be read are left out. */
async function readGone(asked: Session, gone: readonly Order[]): Promise<Order[]> {
  const read = await Promise.all(
    gone.slice(0, MAX_READ).map(({ id }) => getOrder(asked, id).catch(() => null)),
  );
  return read.flatMap((order) => (order === null || isLive(order.status) ? [] : [order]));
}

async function tellNews(asked: Session, before: AccountState, after: AccountState): Promise<void> {
  const news = newsBetween(before, after);
  for (const order of after.openOrders) followSubmission(order, progressOf(order, rulesFor(order.market)));
  if (news.fills.size === 0 && news.gone.length === 0) return;
  const ended = await readGone(asked, news.gone);
  if (session.peek() !== asked) return;
  for (const order of ended) followSubmission(order, progressOf(order, rulesFor(order.market)));
  // The answer to a click of this page has told of it already.
  const endings = ended.filter(({ id }) => !cancelledHere.has(id));
  const filled = [...news.fills.values()].filter(
    ([first]) =>
      !endings.some(({ id }) => id === first!.orderId) &&
      !(first!.role === 'taker' && isSubmitted(first!.orderId)),
  );
  const count = [...news.fills.values()].reduce((sum, trades) => sum + trades.length, 0);
  if (shownTable.peek() !== 'fills' || !visible.peek()) unseenFills.value += count;
  const sentences = [...endings.map(endSentence), ...filled.map(fillSentence)];
  if (news.gone.length > MAX_READ) sentences.push(`${news.gone.length - MAX_READ} more orders have ended.`);
  if (sentences.length > 0) tell(sentences);
}

function tell(sentences: readonly string[]): void {
  const more = sentences.length - MAX_TOLD;
  const text = [...sentences.slice(0, MAX_TOLD), ...(more > 0 ? [`And ${more} more.`] : [])].join(' ');
  announce(text);
  if (signs.peek() === 'sound' || signs.peek() === 'both') beep();
  if (signs.peek() === 'notice' || signs.peek() === 'both') notify(text);
}

function beep(): void {
  const context = new AudioContext();
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  volume.gain.value = 0.1;
  tone.connect(volume).connect(context.destination);
  tone.onended = () => void context.close();
  tone.start();
  tone.stop(context.currentTime + 0.15);
}

/** Browsers refuse notifications without permission, and some phones know none of this kind. */
function notify(text: string): void {
  try {
    new Notification('Redbook', { body: text, tag: 'redbook' });
  } catch {
    // The sentence on the page is enough.
  }
}

/** Chooses further signs, and asks the browser for its permission where they need one. */
export function chooseSigns(chosen: (typeof SIGNALS)[number]): void {
  signs.value = chosen;
  if ((chosen === 'notice' || chosen === 'both') && 'Notification' in window)
    void Notification.requestPermission();
}

/** Tells what happens for as long as the page is open. */
export function startTelling(): void {
  let before: (AccountState & { readonly of: Session }) | null = null;
  effect(() => {
    const asked = session.value;
    if (readAt.value === null || asked === null) {
      before = null;
      return;
    }
    untracked(() => {
      const after = { of: asked, openOrders: openOrders.value, fills: fills.value };
      // The first read after signing in tells nothing new.
      if (before?.of === asked) void tellNews(asked, before, after);
      before = after;
    });
  });
  effect(() => {
    if (shownTable.value === 'fills' && visible.value) unseenFills.value = 0;
  });
  effect(() => {
    if (session.value === null) unseenFills.value = 0;
  });
}
