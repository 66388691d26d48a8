/**
 * Price alerts. This browser keeps them for all of its tabs, and one tab watches the stream of tickers for the others,
 * hidden or not: frames of a stream arrive in a hidden tab too, where timers are held back.
 */

import { effect, type Signal, signal, untracked } from '@preact/signals';
import { compare } from '../../client/index.ts';
import { MAX_ALERTS, type PriceAlert, reachedBy, readAlerts } from '../figures/price-alerts.ts';
import { announce } from './announcements.ts';
import { visible } from './clock.ts';
import { frame, streamState } from './market-feed.ts';
import { tickers, tickersWanted } from './markets.ts';
import { shown } from './number-style.ts';
import { readStored, store } from './storage.ts';
import { askPermission, giveSigns, signs } from './tell.ts';

const KEY = 'redbook:alerts';

/** Newest first. */
export const alerts: Signal<readonly PriceAlert[]> = signal(readAlerts(readStored('browser', KEY)));

/** Words for the title when a price was reached that the reader has not seen; null when there is none. */
export const unseenAlert: Signal<string | null> = signal(null);

/** True while the list of alerts is open. */
export const alertsOpen: Signal<boolean> = signal(false);

/** True in the one tab that watches. */
const isWatching = signal(false);

/** Returns the mark price that the reader sees, or that a ticker brought. */
function markNow(market: string): string | null | undefined {
  const shown = streamState.peek() === 'live' ? frame.peek() : null;
  return shown?.symbol === market ? shown.ticker.mark : tickers.peek().get(market)?.mark;
}

/** Takes the alerts of this tab or of another one, and tells those that were reached. */
function take(next: readonly PriceAlert[]): void {
  const pending = new Set(alerts.peek().flatMap(({ id, reachedAt }) => (reachedAt === null ? [id] : [])));
  const reached = next.filter(({ id, reachedAt }) => reachedAt !== null && pending.has(id));
  alerts.value = next;
  const [first] = reached;
  if (first === undefined) return;
  const text = `${reached.map(({ market, price }) => `${market} has reached ${shown(price)}`).join('. ')}.`;
  const wanted = signs.peek() === 'sound' || signs.peek() === 'both' ? 'both' : 'notice';
  announce(isWatching.peek() ? giveSigns(text, wanted) : text);
  if (!visible.peek()) unseenAlert.value = `${first.market} at ${shown(first.price)}`;
}

function keep(next: readonly PriceAlert[]): void {
  store('browser', KEY, JSON.stringify(next));
  take(next);
}

/**
 * Adds an alert, and asks for the permission to notify.
 * @param price plain decimal
 * @returns the reason why there is none; null when there is
 */
export function addAlert(market: string, price: string): string | null {
  const mark = markNow(market);
  if (mark == null) return 'the mark price is not known now';
  const order = compare(mark, price);
  if (order === 0) return 'that is the mark price now';
  if (alerts.peek().length >= MAX_ALERTS) return `there are ${MAX_ALERTS} alerts already`;
  const id = `${Date.now()} ${Math.random()}`;
  keep([{ id, market, price, isRise: order < 0, reachedAt: null }, ...alerts.peek()]);
  askPermission();
  return null;
}

export function removeAlert(id: string): void {
  keep(alerts.peek().filter((alert) => alert.id !== id));
}

/** Waits until no other tab watches. Pages that are not served over TLS have no locks, so each tab watches itself. */
function becomeWatcher(): void {
  const { locks } = navigator as { readonly locks?: LockManager };
  if (locks === undefined) isWatching.value = true;
  else
    void locks.request(KEY, () => {
      isWatching.value = true;
      return new Promise(() => undefined);
    });
}

/** Watches for as long as the page is open. */
export function startPriceAlerts(): void {
  addEventListener('storage', ({ key }) => {
    if (key === KEY || key === null) take(readAlerts(readStored('browser', KEY)));
  });
  becomeWatcher();
  effect(() => {
    tickersWanted.value = isWatching.value && alerts.value.some(({ reachedAt }) => reachedAt === null);
  });
  effect(() => {
    if (!tickersWanted.value) return;
    const { value: latest } = tickers;
    const next = reachedBy(alerts.value, (market) => latest.get(market)?.mark, Date.now());
    if (next !== alerts.peek()) untracked(() => keep(next));
  });
  effect(() => {
    if (visible.value) unseenAlert.value = null;
  });
}
