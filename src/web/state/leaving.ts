/**
 * A question before the last tab of a wallet with open orders is closed, because the orders stay in the book. The words
 * of the question are the browser's; the page says what stays to a reader who then does not leave.
 */

import { effect, type Signal } from '@preact/signals';
import { openOrders } from './account.ts';
import { announce } from './announcements.ts';
import { kept } from './kept-choice.ts';
import { lockOf } from './order-changes.ts';
import { pollWhileVisible } from './polling.ts';
import { session } from './session.ts';

/** A tab that closes with open orders is asked about, or closes at once. */
export const leaving: Signal<'asks' | 'closes'> = kept('leaving', ['asks', 'closes'], 'asks');

const COUNT_MS = 2_000;

/** Number of tabs of this browser that follow the wallet, as counted last. */
let tabs = 1;

/** Each tab that follows a wallet holds its lock or waits for it. Without locks each tab counts as the last. */
async function countTabs(): Promise<void> {
  const { locks } = navigator as { readonly locks?: LockManager };
  const opened = session.peek();
  if (locks === undefined || opened === null) return;
  const { held = [], pending = [] } = await locks.query();
  tabs = [...held, ...pending].filter(({ name }) => name === lockOf(opened.wallet)).length;
}

function askFirst(event: BeforeUnloadEvent): void {
  if (tabs > 1) return;
  event.preventDefault();
  const count = openOrders.peek().length;
  const orders = count === 1 ? 'Your open order stays' : `Your ${count} open orders stay`;
  announce(`${orders} in the book while no page is open. Cancel what should not wait there.`, 'alert');
}

/** Watches the end of the page for as long as it is open. */
export function startLeaving(): void {
  const isWanted = (): boolean =>
    leaving.value === 'asks' && session.value !== null && openOrders.value.length > 0;
  pollWhileVisible(COUNT_MS, countTabs, isWanted);
  effect(() => {
    if (!isWanted()) return;
    addEventListener('beforeunload', askFirst);
    return () => removeEventListener('beforeunload', askFirst);
  });
}
