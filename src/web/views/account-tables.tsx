/** The tables of the account. Every figure is the literal that the API gives. */

import { computed, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Order } from '../../client/index.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import { orderSums, statusText } from '../figures/progress-words.ts';
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
import { confirmed } from '../state/question.ts';
import { focusIfLost } from './lost-focus.ts';

interface TableProps {
  readonly name: string;
  /** Headings. A `#` at the end marks a column of figures and is not shown. */
  readonly columns: readonly string[];
  readonly isEmpty: boolean;
  readonly emptyText: string;
  readonly children: ComponentChildren;
}

/** A table of the account, and a sentence in place of its rows when it is empty. */
export function Table({ name, columns, isEmpty, emptyText, children }: TableProps) {
  return (
    <>
      <div class="table-frame">
        <table class="account-table" tabIndex={-1}>
          <caption class="visually-hidden">{name}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col" class={column.endsWith('#') ? 'number' : undefined}>
                  {column.replace('#', '')}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
      {isEmpty && <p class="empty-note muted">{emptyText}</p>}
    </>
  );
}

/** The cells of a row by their columns, which a phone shows above them. A `#` at the end marks a figure. */
export function Cells({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <>
      {Object.entries(of).map(([column, content]) => (
        <td
          key={column}
          data-of={column.replace('#', '')}
          class={column.endsWith('#') ? 'number' : undefined}
        >
          {content}
        </td>
      ))}
    </>
  );
}

const timeText = (iso: string): string => new Date(iso).toLocaleString(undefined, TIME);
const TIME = { dateStyle: 'short', timeStyle: 'medium' } as const;

const sideText = (side: 'buy' | 'sell') => <span class={side === 'buy' ? 'up' : 'down'}>{side}</span>;

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

/** The box that leaves out the orders and fills of other markets. */
export function OnlyThisMarket() {
  const symbol = currentMarket.value?.symbol;
  if (symbol === undefined) return null;
  return (
    <label class="check only-market">
      <input
        type="checkbox"
        checked={listed.value === 'this'}
        onChange={(event) => {
          listed.value = event.currentTarget.checked ? 'this' : 'all';
        }}
      />
      Only {symbol}
    </label>
  );
}

// --- open orders ------------------------------------------------------------------------------------------

const OPEN_COLUMNS = ['Placed', 'Market', 'Side', 'Price#', 'Size#', 'Filled#', 'Remaining#', 'Action'];

export function OpenOrdersTable() {
  const frame = useRef<HTMLDivElement>(null);
  const orders = wanted(openOrders.value);
  return (
    <div ref={frame} class="open-orders">
      <OpenOrdersTools frame={frame} />
      <Table
        name="Open orders"
        columns={OPEN_COLUMNS}
        isEmpty={orders.length === 0 && portfolio.value !== null}
        emptyText="No open orders."
      >
        {orders.map((order) => (
          <OpenOrderRow key={order.id} order={order} />
        ))}
      </Table>
      <Unlisted />
      <MoreButton list="orders" />
    </div>
  );
}

function OpenOrderRow({ order }: { order: Order }) {
  const { side, price, size, filledSize, remainingSize, market, createdAt } = order;
  const isCancelling = cancelling.value.has(order.id);
  return (
    <tr>
      <Cells
        of={{
          Placed: timeText(createdAt),
          Market: market,
          Side: sideText(side),
          'Price#': price,
          'Size#': size,
          'Filled#': filledSize,
          'Remaining#': remainingSize,
          Action: (
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
          ),
        }}
      />
    </tr>
  );
}

/** Returns the element to focus when the row of a button is gone: the next row, the previous one, or the table. */
function neighbourOf(button: HTMLElement): () => HTMLElement | null {
  const row = button.closest('tr');
  const table = button.closest('table');
  const rows = [row?.nextElementSibling, row?.previousElementSibling];
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

const HISTORY_COLUMNS = [
  'Placed',
  'Market',
  'Side',
  'Type',
  'Price#',
  'Size#',
  'Filled#',
  'Average#',
  'Fee#',
  'Ended',
  'Status',
];

/** Ids of the orders whose fills are shown. */
const unfolded = signal<ReadonlySet<string>>(new Set());

function toggle(id: string): void {
  const shown = new Set(unfolded.value);
  if (!shown.delete(id)) shown.add(id);
  unfolded.value = shown;
}

function HistoryRow({ order }: { order: Order }) {
  const market = marketOf(order.market);
  const sums = market === undefined ? null : orderSums(order, rulesOf(market));
  const isUnfolded = unfolded.value.has(order.id);
  const filled =
    order.fills.length === 0 ? (
      order.filledSize
    ) : (
      <button
        type="button"
        class="button quiet small"
        aria-expanded={isUnfolded}
        aria-label={`${order.filledSize}: fills of the order to ${order.side} ${order.size} ${order.market}`}
        onClick={() => toggle(order.id)}
      >
        {order.filledSize}
      </button>
    );
  return (
    <>
      <tr>
        <Cells
          of={{
            Placed: timeText(order.createdAt),
            Market: order.market,
            Side: sideText(order.side),
            Type: order.timeInForce === 'GTC' ? order.type : `${order.type} ${order.timeInForce}`,
            'Price#': order.price ?? 'market',
            'Size#': order.size,
            'Filled#': filled,
            'Average#': sums?.average ?? NONE,
            'Fee#': sums?.fee ?? NONE,
            Ended: timeText(order.updatedAt),
            Status: statusText(order),
          }}
        />
      </tr>
      {isUnfolded && (
        <tr>
          <td class="fills-of" colSpan={HISTORY_COLUMNS.length}>
            <ul>
              {order.fills.map(({ id, price, size, feeAmount, createdAt }) => (
                <li key={id}>
                  {timeText(createdAt)}: {size} at {price}, fee {feeAmount}
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </>
  );
}

export const NONE = '–';

export function HistoryTable() {
  const orders = wanted(history.value);
  return (
    <>
      <Table
        name="History"
        columns={HISTORY_COLUMNS}
        isEmpty={orders.length === 0 && portfolio.value !== null}
        emptyText="No closed orders."
      >
        {orders.map((order) => (
          <HistoryRow key={order.id} order={order} />
        ))}
      </Table>
      <MoreButton list="history" />
    </>
  );
}

const FILL_COLUMNS = ['Time', 'Market', 'Side', 'Role', 'Price#', 'Size#', 'Notional#', 'Fee#', 'Paid in'];

export function FillsTable() {
  const trades = wanted(fills.value);
  return (
    <>
      <Table
        name="Fills"
        columns={FILL_COLUMNS}
        isEmpty={trades.length === 0 && portfolio.value !== null}
        emptyText="No fills."
      >
        {trades.map(
          ({ id, createdAt, market, side, role, price, size, notional, feeAmount, feeAsset, orderId }) => (
            <tr key={`${id} ${orderId}`}>
              <Cells
                of={{
                  Time: timeText(createdAt),
                  Market: market,
                  Side: sideText(side),
                  Role: role,
                  'Price#': price,
                  'Size#': size,
                  'Notional#': notional,
                  'Fee#': feeAmount,
                  'Paid in': feeAsset,
                }}
              />
            </tr>
          ),
        )}
      </Table>
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
      Worth <strong>{equity}</strong>
      {valuedIn.value} at mark prices, {freeCollateral} of it free for orders.
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

function BalanceRows() {
  return (
    <Table
      name="Balances"
      columns={['Asset', 'Total#', 'Reserved#', 'Available#']}
      isEmpty={portfolio.value !== null && balances.value.length === 0}
      emptyText="No balances."
    >
      {balances.value.map(({ asset, total, reserved, available }) => (
        <tr key={asset}>
          <Cells
            of={{
              Asset: asset,
              'Total#': total,
              'Reserved#': reserved,
              'Available#': available,
            }}
          />
        </tr>
      ))}
    </Table>
  );
}
