/** Orders, fills and balances of the signed-in wallet: read at each change of its orders, and now and then. */

import {
  batch,
  computed,
  effect,
  type ReadonlySignal,
  type Signal,
  signal,
  untracked,
} from '@preact/signals';
import {
  cancel,
  cancelAll,
  getOrders,
  getPortfolio,
  getTrades,
  type Order,
  type Portfolio,
  RedbookError,
  type Session,
  type WalletTrade,
} from '../../client/index.ts';
import {
  cursorOf,
  type Dated,
  EMPTY_LIST,
  hasMore,
  itemsOf,
  type PagedList,
  without,
  withPage,
} from '../figures/paged-list.ts';
import { announce } from './announcements.ts';
import { visible } from './clock.ts';
import { streamState } from './market-feed.ts';
import { shownWithin } from './number-style.ts';
import { endAfter, session } from './session.ts';

export type ListName = 'orders' | 'history' | 'fills';

/** A list of the wallet that is read page by page. */
interface AccountList<Item> {
  readonly items: ReadonlySignal<readonly Item[]>;
  /** True when the service has more than the pages that were loaded. */
  readonly hasMore: ReadonlySignal<boolean>;
}

interface PolledList<Item extends Dated> extends AccountList<Item> {
  readonly pages: Signal<PagedList<Item>>;
  readonly read: (
    asked: Session,
    cursor: string | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>;
  /** Index of the page, other than the first, that is read next. */
  turn: number;
}

function polledList<Item extends Dated>(read: PolledList<Item>['read']): PolledList<Item> {
  const pages: Signal<PagedList<Item>> = signal(EMPTY_LIST);
  return {
    pages,
    read,
    turn: 0,
    items: computed(() => itemsOf(pages.value)),
    hasMore: computed(() => hasMore(pages.value)),
  };
}

const ordersOf =
  (status: 'live' | 'closed'): PolledList<Order>['read'] =>
  async (asked, cursor) => {
    const { orders, nextCursor } = await getOrders(asked, {
      status,
      limit: 100,
      ...(cursor !== undefined && { cursor }),
    });
    return { items: orders, nextCursor };
  };

const lists = {
  orders: polledList(ordersOf('live')),
  history: polledList(ordersOf('closed')),
  fills: polledList<WalletTrade>(async (asked, cursor) => {
    const { trades, nextCursor } = await getTrades(asked, {
      limit: 100,
      ...(cursor !== undefined && { cursor }),
    });
    return { items: trades, nextCursor };
  }),
};

/** Live orders of all markets, newest first: the newest 100, and what was loaded beyond them. */
export const openOrders: ReadonlySignal<readonly Order[]> = lists.orders.items;
export const history: ReadonlySignal<readonly Order[]> = lists.history.items;
/** Executions of the wallet, newest first. */
export const fills: ReadonlySignal<readonly WalletTrade[]> = lists.fills.items;

export const moreOf = (name: ListName): boolean => lists[name].hasMore.value;

/** Balances and their value; null until they were read. */
export const portfolio: Signal<Portfolio | null> = signal(null);

export const balances: ReadonlySignal<Portfolio['balances']> = computed(
  () => portfolio.value?.balances ?? [],
);

/** Reason why the figures on the screen are outdated; null when the last read succeeded. */
export const accountFault: Signal<string | null> = signal(null);

/** Time of the latest complete read, by `performance.now()`; null until there is one. */
export const readAt: Signal<number | null> = signal(null);

/** The table on the screen. The history is read only while it is shown. */
export const shownTable: Signal<ListName | 'results' | 'balances'> = signal('orders');

/** Orders whose cancel has not been answered yet. */
export const cancelling: Signal<ReadonlySet<string>> = signal(new Set());

async function readPage<Item extends Dated>(
  list: PolledList<Item>,
  asked: Session,
  index: number,
): Promise<void> {
  const cursor = cursorOf(list.pages.peek(), index);
  if (cursor === null) return;
  const { items, nextCursor } = await list.read(asked, cursor);
  if (session.peek() === asked) list.pages.value = withPage(list.pages.peek(), index, items, nextCursor);
}

/** Reads the first page and, in turn, one of the others, so that loaded pages stay current at a bounded cost. */
async function readList<Item extends Dated>(list: PolledList<Item>, asked: Session): Promise<void> {
  await readPage(list, asked, 0);
  const further = list.pages.peek().pages.length - 1;
  if (further <= 0) return;
  list.turn = (list.turn % further) + 1;
  await readPage(list, asked, list.turn);
}

async function readPortfolio(asked: Session): Promise<void> {
  const read = await getPortfolio(asked);
  if (session.peek() === asked) portfolio.value = read;
}

async function readAll(asked: Session): Promise<void> {
  const reads = [readList(lists.orders, asked), readList(lists.fills, asked), readPortfolio(asked)];
  if (shownTable.peek() === 'history') reads.push(readList(lists.history, asked));
  const results = await Promise.allSettled(reads);
  if (session.peek() !== asked) return;
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) {
    batch(() => {
      accountFault.value = null;
      readAt.value = performance.now();
    });
  } else if (!endAfter(failed.reason, asked)) accountFault.value = textOf(failed.reason);
}

const textOf = (thrown: unknown): string => {
  if (!(thrown instanceof RedbookError)) return 'the answer could not be read';
  return thrown.code === 'TIMEOUT' || thrown.code === 'NETWORK_ERROR'
    ? 'the service does not answer'
    : thrown.message;
};

/** Pages of open orders that are loaded without a press: 1,000 orders. */
const ORDER_PAGES = 10;
let isLoadingOrders = false;

/** Loads the open orders beyond the first page, so that the book, the chart and the filter know them. */
async function loadOrders(asked: Session): Promise<void> {
  if (isLoadingOrders) return;
  isLoadingOrders = true;
  try {
    for (;;) {
      const { length } = lists.orders.pages.peek().pages;
      if (session.peek() !== asked || length === 0 || length >= ORDER_PAGES || !moreOf('orders')) return;
      await readPage(lists.orders, asked, length);
      if (lists.orders.pages.peek().pages.length === length) return;
    }
  } catch {
    // The next read of the account goes on.
  } finally {
    isLoadingOrders = false;
  }
}

let reading: Promise<void> | null = null;
let isStale = false;
/** By `performance.now()`. */
let lastReadAt = Number.NEGATIVE_INFINITY;

/**
 * Reads orders, fills and balances. A call during a read causes one more read after it, so that the result always
 * includes what the wallet did before the call.
 */
export function refreshAccount(): Promise<void> {
  isStale = true;
  reading ??= readUntilFresh().finally(() => {
    reading = null;
  });
  return reading;
}

async function readUntilFresh(): Promise<void> {
  for (;;) {
    const asked = session.peek();
    if (asked === null || !isStale) return;
    isStale = false;
    await readAll(asked);
    void loadOrders(asked);
    lastReadAt = performance.now();
  }
}

/** Loads the next page of a list. */
export async function loadMore(name: ListName): Promise<void> {
  const asked = session.peek();
  if (asked === null) return;
  // The type of the items is that of the list's own read.
  const list = lists[name] as PolledList<Dated>;
  try {
    const before = list.items.peek().length;
    await readPage(list, asked, list.pages.peek().pages.length);
    announce(`Loaded ${list.items.peek().length - before} more.`);
  } catch (thrown) {
    if (!endAfter(thrown, asked)) announce(`Loading failed: ${textOf(thrown)}.`, 'alert');
  }
}

/** Orders that a click on this page has ended. */
const endedHere = new Set<string>();
/** Number of requests under way that cancel orders without naming them. */
let unnamedCancels = 0;

/** True for an order that a click on this page has ended, or is about to. */
export const isEndedHere = ({ id, reason }: Order): boolean =>
  endedHere.has(id) || cancelling.peek().has(id) || (reason === 'user_cancelled' && unnamedCancels > 0);

function forget(ids: readonly string[]): void {
  for (const id of ids) endedHere.add(id);
  lists.orders.pages.value = without(lists.orders.pages.peek(), new Set(ids));
}

/** Describes an order as its cancel button does: `buy 0.5 ETH at 2000`. */
export const nameOfOrder = ({
  side,
  remainingSize,
  market,
  price,
}: Pick<Order, 'side' | 'remainingSize' | 'market' | 'price'>): string =>
  `${side} ${remainingSize} ${market.split('/')[0]} at ${price}`;

/** Describes an order within a sentence. */
export const shownName = (order: Parameters<typeof nameOfOrder>[0]): string =>
  shownWithin(nameOfOrder(order));

export async function cancelOrder(order: Order): Promise<void> {
  const asked = session.peek();
  if (asked === null || cancelling.peek().has(order.id)) return;
  cancelling.value = new Set([...cancelling.peek(), order.id]);
  try {
    await cancel(asked, order.id);
    forget([order.id]);
    announce(`Cancelled: ${shownName(order)}.`);
  } catch (thrown) {
    reportCancel(thrown, asked, shownName(order));
  } finally {
    cancelling.value = new Set([...cancelling.peek()].filter((id) => id !== order.id));
    void refreshAccount();
  }
}

function reportCancel(thrown: unknown, asked: Session, what: string): void {
  if (endAfter(thrown, asked)) return;
  const isUnknown = thrown instanceof RedbookError && thrown.outcome === 'unknown';
  const text = isUnknown
    ? `No answer to the cancel of ${what}. The table shows what became of it.`
    : `Not cancelled: ${what}. ${textOf(thrown)}.`;
  announce(text, 'alert');
}

/** Cancels every live order, or those of one market. @param market `BASE/QUOTE` */
export async function cancelEvery(market?: string): Promise<void> {
  const asked = session.peek();
  if (asked === null) return;
  const what = market === undefined ? 'all orders' : `all orders of ${market}`;
  unnamedCancels += 1;
  try {
    const { cancelled, count } = await cancelAll(asked, market === undefined ? {} : { market });
    forget(cancelled.map(({ id }) => id));
    announce(`Cancelled ${count} ${count === 1 ? 'order' : 'orders'}.`);
  } catch (thrown) {
    reportCancel(thrown, asked, what);
  } finally {
    unnamedCancels -= 1;
    void refreshAccount();
  }
}

/** Maximum time between two reads: balances also change by deposits, and their worth by prices. */
const SHOWN_PAUSE_MS = 10_000;
const HIDDEN_PAUSE_MS = 60_000;
const CHECK_MS = 5_000;
/** Least time between two reads that changes of orders cause. */
const CHANGE_PAUSE_MS = 1_000;

let willRefresh = false;

/** Reads after a change of an order: at once, unless many follow each other or nobody sees the page. */
export function refreshSoon(): void {
  if (!visible.peek()) lastReadAt = Number.NEGATIVE_INFINITY;
  if (!visible.peek() || willRefresh) return;
  willRefresh = true;
  const pauseMs = Math.max(0, lastReadAt + CHANGE_PAUSE_MS - performance.now());
  setTimeout(() => {
    willRefresh = false;
    void refreshAccount();
  }, pauseMs);
}

function clear(): void {
  batch(() => {
    for (const list of Object.values(lists)) list.pages.value = EMPTY_LIST;
    portfolio.value = null;
    accountFault.value = null;
    cancelling.value = new Set();
    readAt.value = null;
  });
  endedHere.clear();
}

/** Reads while the page is open and somebody is signed in. */
export function startAccount(): void {
  effect(() => {
    const { value: opened } = session;
    untracked(clear);
    if (opened !== null) queueMicrotask(() => void refreshAccount());
  });
  effect(() => {
    if (session.value === null) return;
    const pause = visible.value ? SHOWN_PAUSE_MS : HIDDEN_PAUSE_MS;
    const refreshIfOld = (): void => {
      if (performance.now() - lastReadAt >= pause) void refreshAccount();
    };
    queueMicrotask(refreshIfOld);
    const timer = setInterval(refreshIfOld, CHECK_MS);
    return () => clearInterval(timer);
  });
  // The stream notices first that the service is back.
  effect(() => {
    if (streamState.value === 'live' && accountFault.peek() !== null)
      queueMicrotask(() => void refreshAccount());
  });
  effect(() => {
    if (shownTable.value === 'history' && session.value !== null) queueMicrotask(() => void refreshAccount());
  });
}
