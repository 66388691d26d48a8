/** The tables of the account. Every figure is the literal that the API gives. */

import { computed, signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Order, Portfolio, WalletTrade } from '../../client/index.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import { askedType } from '../figures/asked-type.ts';
import { type FillSums, orderSums, statusText } from '../figures/progress-words.ts';
import { unlistedReserves } from '../figures/unlisted-reserves.ts';
import {
  balances,
  cancelEvery,
  cancelling,
  cancelOrder,
  fills,
  history,
  type ListName,
  loadMore,
  moreOf,
  nameOfOrder,
  openOrders,
  portfolio,
} from '../state/account.ts';
import { kept } from '../state/kept-choice.ts';
import { currentMarket } from '../state/market-feed.ts';
import { marketOf, markets } from '../state/markets.ts';
import { shown, written } from '../state/number-style.ts';
import { confirmed } from '../state/question.ts';
import { dayText, downloadStatement, isDownloading } from '../state/statement.ts';
import { moveOrder } from '../state/submissions.ts';
import { type Column, DataTable, filterText, timeText } from './data-table.tsx';
import { focusIfLost } from './lost-focus.ts';
import { MarketName } from './market-name.tsx';

interface Sided {
  readonly market: string;
  readonly side: 'buy' | 'sell';
}

const MARKET: Column<Sided> = {
  name: 'Market',
  kind: 'text',
  text: ({ market }) => market,
  show: ({ market }) => <MarketName symbol={market} />,
};
const SIDE: Column<Sided> = {
  name: 'Side',
  kind: 'text',
  text: ({ side }) => side,
  show: ({ side }) => (
    <span class={side === 'buy' ? 'up' : 'down'} translate={false}>
      {side}
    </span>
  ),
};
const PLACED: Column<Order> = { name: 'Placed', kind: 'time', text: ({ createdAt }) => createdAt };

const figure = <Item,>(name: string, text: (item: Item) => string): Column<Item> => ({
  name,
  kind: 'figure',
  text,
});

const isRead = (): boolean => portfolio.value !== null;

export function MoreButton({ list }: { list: ListName }) {
  if (!moreOf(list)) return null;
  return (
    <button type="button" class="button small" onClick={() => void loadMore(list)}>
      Load more
    </button>
  );
}

/** The markets whose orders and fills are listed: all, or the one on the screen. */
const listed = kept('listed-markets', ['all', 'this'], 'all');

/** Returns the items that the reader wants listed. They are filtered here, because other parts of the page need all. */
function wanted<Item extends { readonly market: string }>(items: readonly Item[]): readonly Item[] {
  const symbol = currentMarket.value?.symbol;
  return listed.value === 'all' || symbol === undefined
    ? items
    : items.filter(({ market }) => market === symbol);
}

/** Leaves out the orders and fills of other markets, and rows without a text. */
export function ListFilter() {
  const symbol = currentMarket.value?.symbol;
  return (
    <div class="list-filter">
      {symbol !== undefined && (
        <label class="check">
          <input
            type="checkbox"
            checked={listed.value === 'this'}
            onChange={(event) => {
              listed.value = event.currentTarget.checked ? 'this' : 'all';
            }}
          />
          Only {symbol}
        </label>
      )}
      <input
        type="search"
        aria-label="Filter the rows"
        placeholder="Filter"
        value={filterText.value}
        onInput={(event) => {
          filterText.value = event.currentTarget.value;
        }}
      />
    </div>
  );
}

// --- open orders ------------------------------------------------------------------------------------------

const OPEN_COLUMNS: readonly Column<Order>[] = [
  PLACED,
  MARKET,
  SIDE,
  figure('Price', ({ price }) => price ?? ''),
  figure('Size', ({ size }) => size),
  figure('Filled', ({ filledSize }) => filledSize),
  figure('Remaining', ({ remainingSize }) => remainingSize),
  { name: 'Action', kind: 'action', text: () => '', show: (order) => <OrderActions order={order} /> },
];

export function OpenOrdersTable() {
  const frame = useRef<HTMLDivElement>(null);
  return (
    <div ref={frame} class="open-orders">
      <OpenOrdersTools frame={frame} />
      <DataTable
        name="Open orders"
        columns={OPEN_COLUMNS}
        items={wanted(openOrders.value)}
        isRead={isRead()}
        emptyText="No open orders."
        keyOf={({ id }) => id}
        below={(order) => (edited.value === order.id ? <MoveEditor order={order} /> : null)}
      />
      <Unlisted />
      <MoreButton list="orders" />
    </div>
  );
}

/** Id of the order that is being moved. */
const edited = signal<string | null>(null);

function OrderActions({ order }: { order: Order }) {
  const isCancelling = cancelling.value.has(order.id);
  const isEdited = edited.value === order.id;
  return (
    <>
      <button
        type="button"
        class="button small"
        aria-label={`Move ${nameOfOrder(order)}`}
        aria-expanded={isEdited}
        onClick={() => {
          edited.value = isEdited ? null : order.id;
        }}
      >
        Move
      </button>{' '}
      <button
        type="button"
        class="button small cancel-order"
        aria-label={`Cancel ${nameOfOrder(order)}`}
        aria-busy={isCancelling}
        onClick={(event) => {
          const next = neighbourOf(event.currentTarget);
          void cancelOrder(order).then(() => focusIfLost(next));
        }}
      >
        {isCancelling ? 'Cancelling…' : 'Cancel'}
      </button>
    </>
  );
}

/** Asks below the row of an order for its new price and its new size. Escape leaves the order as it is. */
function MoveEditor({ order }: { order: Order }) {
  const input = useRef<HTMLInputElement>(null);
  // The typed size goes with the order as it was then.
  const { current: seen } = useRef(order);
  const price = written(seen.price ?? '');
  const size = written(seen.remainingSize);
  // Before the browser paints: a key that is pressed at once belongs into the field.
  useLayoutEffect(() => {
    input.current?.select();
    input.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const close = (): void => {
    const ofOrder = input.current!.closest('tr')!.previousElementSibling as HTMLElement;
    const next = neighbourOf(ofOrder);
    edited.value = null;
    focusIfLost(next);
  };
  return (
    <form
      class="price-editor"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget);
        close();
        const typedSize = String(typed.get('size'));
        void moveOrder(seen, {
          price: String(typed.get('price')),
          ...(typedSize !== size && { size: typedSize }),
        });
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      {[['price', price, input] as const, ['size', size, null] as const].map(([name, figure, ref]) => (
        <label key={name}>
          New {name}{' '}
          <input
            ref={ref}
            name={name}
            class="input number"
            inputMode="decimal"
            autocomplete="off"
            aria-label={`New ${name} of ${nameOfOrder(seen)}`}
            defaultValue={figure}
          />
        </label>
      ))}
      <button type="submit" class="button small">
        Move
      </button>
      <button type="button" class="button quiet small" onClick={close}>
        Keep
      </button>
    </form>
  );
}

/** Returns the element to focus when an element of a row is gone: the same or next row, the previous one, or the table. */
function neighbourOf(element: HTMLElement): () => HTMLElement | null {
  const row = element.closest('tr');
  const table = element.closest('table');
  const rows = [row, row?.nextElementSibling, row?.previousElementSibling];
  return () => {
    const left = rows.find((one) => one?.isConnected);
    return left?.querySelector<HTMLElement>('button') ?? table;
  };
}

function OpenOrdersTools({ frame }: { frame: { readonly current: HTMLElement | null } }) {
  const symbol = currentMarket.value?.symbol;
  if (openOrders.value.length === 0) return null;
  const ask = async (market?: string): Promise<void> => {
    const what = market === undefined ? 'all your orders in all markets' : `all your ${market} orders`;
    const agreed = await confirmed({
      title: 'Cancel orders?',
      text: `This cancels ${what}, those that are not loaded included.`,
      action: 'Cancel them',
    });
    if (!agreed) return;
    await cancelEvery(market);
    focusIfLost(() => frame.current?.querySelector('table') ?? null);
  };
  return (
    <div class="account-tools">
      <span class="muted stay-note">They stay in the book when you close this page.</span>
      {symbol !== undefined && (
        <button type="button" class="button small" onClick={() => void ask(symbol)}>
          Cancel all {symbol}
        </button>
      )}
      <button type="button" class="button small danger" onClick={() => void ask()}>
        Cancel all markets
      </button>
    </div>
  );
}

/** Computed only while some orders are not loaded: otherwise a difference only comes from the moment of reading. */
const unlisted = computed(() =>
  moreOf('orders')
    ? unlistedReserves(balances.value, openOrders.value, (symbol) => {
        const market = marketOf(symbol);
        return market === undefined ? undefined : rulesOf(market);
      })
    : [],
);

function Unlisted() {
  if (!moreOf('orders')) return null;
  const held = unlisted.value.map(({ asset, amount }) => `${amount} ${asset}`);
  return (
    <p class="note">
      The newest {openOrders.value.length} orders are listed.{' '}
      {held.length > 0 && `Orders not loaded still reserve ${held.join(' and ')}.`}
    </p>
  );
}

// --- history, fills, balances -----------------------------------------------------------------------------

/** Ids of the orders whose fills are shown. */
const unfolded = signal<ReadonlySet<string>>(new Set());

function toggle(id: string): void {
  const shown = new Set(unfolded.value);
  if (!shown.delete(id)) shown.add(id);
  unfolded.value = shown;
}

function FilledCell({ order: { id, side, size, market, filledSize, fills: ofOrder } }: { order: Order }) {
  if (ofOrder.length === 0) return <>{shown(filledSize)}</>;
  return (
    <button
      type="button"
      class="button quiet small"
      aria-expanded={unfolded.value.has(id)}
      aria-label={`${filledSize}: fills of the order to ${side} ${size} ${market}`}
      onClick={() => toggle(id)}
    >
      {shown(filledSize)}
    </button>
  );
}

const sumsOf = (order: Order): FillSums | null => {
  const market = marketOf(order.market);
  return market === undefined ? null : orderSums(order, rulesOf(market));
};

const HISTORY_COLUMNS: readonly Column<Order>[] = [
  PLACED,
  MARKET,
  SIDE,
  {
    name: 'Type',
    kind: 'text',
    text: askedType,
  },
  figure('Price', ({ price }) => price ?? 'market'),
  figure('Size', ({ size }) => size),
  { ...figure('Filled', ({ filledSize }) => filledSize), show: (order) => <FilledCell order={order} /> },
  figure('Average', (order) => sumsOf(order)?.average ?? NONE),
  figure('Fee', (order) => sumsOf(order)?.fee ?? NONE),
  { name: 'Ended', kind: 'time', text: ({ updatedAt }) => updatedAt },
  { name: 'Status', kind: 'text', text: statusText },
];

const fillList = (order: Order) => (
  <ul>
    {order.fills.map(({ id, price, size, feeAmount, createdAt }) => (
      <li key={id}>
        {timeText(createdAt)}: {shown(size)} at {shown(price)}, fee {shown(feeAmount)}
      </li>
    ))}
  </ul>
);

export const NONE = '–';

export function HistoryTable() {
  return (
    <>
      <StatementTool />
      <DataTable
        name="History"
        columns={HISTORY_COLUMNS}
        items={wanted(history.value)}
        isRead={isRead()}
        emptyText="No closed orders."
        keyOf={({ id }) => id}
        below={(order) => (unfolded.value.has(order.id) ? fillList(order) : null)}
      />
      <MoreButton list="history" />
    </>
  );
}

const MONTH_MS = 30 * 86_400_000;

/** Downloads every change of the balances in a span of days. */
function StatementTool() {
  const from = dayText(Date.now() - MONTH_MS);
  const to = dayText(Date.now());
  return (
    <form
      class="account-tools"
      aria-label="Statement"
      onSubmit={(event) => {
        event.preventDefault();
        const days = new FormData(event.currentTarget);
        void downloadStatement(String(days.get('first')), String(days.get('last')));
      }}
    >
      <label>
        Statement, first day <input type="date" name="first" defaultValue={from} />
      </label>
      <label>
        last day (UTC) <input type="date" name="last" defaultValue={to} />
      </label>
      <button type="submit" class="button small" aria-busy={isDownloading.value}>
        {isDownloading.value ? 'Reading…' : 'Download CSV'}
      </button>
    </form>
  );
}

const FILL_COLUMNS: readonly Column<WalletTrade>[] = [
  { name: 'Time', kind: 'time', text: ({ createdAt }) => createdAt },
  MARKET,
  SIDE,
  { name: 'Role', kind: 'text', text: ({ role }) => role },
  figure('Price', ({ price }) => price),
  figure('Size', ({ size }) => size),
  figure('Notional', ({ notional }) => notional),
  figure('Fee', ({ feeAmount }) => feeAmount),
  { name: 'Paid in', kind: 'text', text: ({ feeAsset }) => feeAsset },
];

export function FillsTable() {
  return (
    <>
      <DataTable
        name="Fills"
        columns={FILL_COLUMNS}
        items={wanted(fills.value)}
        isRead={isRead()}
        emptyText="No fills."
        keyOf={({ id, orderId }) => `${id} ${orderId}`}
      />
      <MoreButton list="fills" />
    </>
  );
}

/** The asset that all markets quote in, as the value of the account is told in it; empty when there are several. */
const valuedIn = computed(() => {
  const quotes = new Set(markets.value.map(({ quoteToken }) => quoteToken));
  return quotes.size === 1 ? ` ${[...quotes][0]}` : '';
});

function Worth() {
  if (portfolio.value === null) return null;
  const { equity, freeCollateral } = portfolio.value;
  return (
    <p class="note worth">
      Worth <strong>{shown(equity)}</strong>
      {valuedIn.value} at mark prices, {shown(freeCollateral)} of it free for orders.
    </p>
  );
}

export function BalancesTable() {
  return (
    <>
      <Worth />
      <BalanceRows />
    </>
  );
}

const BALANCE_COLUMNS: readonly Column<Portfolio['balances'][number]>[] = [
  { name: 'Asset', kind: 'text', text: ({ asset }) => asset },
  figure('Total', ({ total }) => total),
  figure('Reserved', ({ reserved }) => reserved),
  figure('Available', ({ available }) => available),
];

function BalanceRows() {
  return (
    <DataTable
      name="Balances"
      columns={BALANCE_COLUMNS}
      items={balances.value}
      isRead={isRead()}
      emptyText="No balances."
      keyOf={({ asset }) => asset}
      isFiltered={false}
    />
  );
}
