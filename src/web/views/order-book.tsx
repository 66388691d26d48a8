/** The live order book: one table for both sides, asks above the spread and bids below it. */

import { computed, effect, signal } from '@preact/signals';
import { Component } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Market } from '../../client/index.ts';
import { formatCount } from '../../domain/units.ts';
import {
  type BookRow,
  type BookSide,
  groupBook,
  groupingFactors,
  ownRows,
  spreadOf,
} from '../figures/grouped-book.ts';
import { openOrders } from '../state/account.ts';
import { currentMarket, frame, streamState } from '../state/market-feed.ts';
import { gridOfMarket } from '../state/markets.ts';
import { numbers, shown, shownWithin, shownZeros } from '../state/number-style.ts';
import { fillFromBook } from '../state/order-draft.ts';
import { bookClick } from '../state/order-settings.ts';
import { selectedTicker } from '../state/selected-market.ts';
import { BookScroll } from './book-scroll.ts';
import { FeedState } from './feed-state.tsx';
import { Scroller } from './scroller.tsx';

/** Number of ticks in a row of the book. */
const chosenFactor = signal(1n);

/** Groupings that the price of the market allows. */
const factors = computed(() => {
  const market = currentMarket.value;
  if (market === null) return [1n];
  const best = frame.value?.book.bids[0]?.price ?? frame.value?.book.asks[0]?.price ?? null;
  return groupingFactors(best, gridOfMarket(market).tick);
});

const factor = computed(() => (factors.value.includes(chosenFactor.value) ? chosenFactor.value : 1n));

// Another market has another tick.
effect(() => {
  void selectedTicker.value;
  chosenFactor.value = 1n;
});

export function OrderBook() {
  const market = currentMarket.value;
  return (
    <section class="panel order-book" data-state={streamState.value} aria-labelledby="order-book-heading">
      <div class="panel-head">
        <h2 id="order-book-heading">Order book</h2>
        <FeedState />
        {market !== null && <Grouping market={market} />}
      </div>
      {market !== null && <BookTable key={market.symbol} market={market} />}
    </section>
  );
}

function Grouping({ market }: { market: Market }) {
  const { tick } = gridOfMarket(market);
  return (
    <select
      class="small"
      aria-label="Group prices by"
      title="Group prices by"
      value={factor.value.toString()}
      onChange={(event) => {
        chosenFactor.value = BigInt(event.currentTarget.value);
      }}
    >
      {factors.value.map((ticks) => (
        <option key={ticks} value={ticks.toString()}>
          {shown(formatCount(ticks, tick))}
        </option>
      ))}
    </select>
  );
}

/** Returns both sides, the reader's own rows and the spread of the frame on the screen. */
function shownBook(market: Market) {
  const book = frame.value?.book ?? { bids: [], asks: [] };
  const grid = gridOfMarket(market);
  const ticks = factor.value;
  const own = openOrders.value.filter((order) => order.market === market.symbol);
  const { bids, asks } = groupBook(book, grid, ticks);
  return {
    bids: { rows: bids, own: ownRows(own, 'bid', grid.tick, ticks) },
    // The best ask stands next to the spread.
    asks: { rows: asks.toReversed(), own: ownRows(own, 'ask', grid.tick, ticks) },
    spread: spreadOf(book.bids[0]?.price, book.asks[0]?.price, grid.tick),
  };
}

function BookTable({ market }: { market: Market }) {
  const table = useRef<HTMLTableElement>(null);
  const scroll = useRef<BookScroll>(null);
  const { bids, asks, spread } = shownBook(market);
  useLayoutEffect(() => {
    scroll.current = new BookScroll(table.current!);
    return () => scroll.current?.end();
  }, []);
  useLayoutEffect(() => scroll.current?.place());
  const { tick, step } = gridOfMarket(market);
  const places = { price: tick.places, size: step.places };
  return (
    <Scroller name="Levels of the book" class="book-scroll">
      <table
        ref={table}
        class={isLong(bids.rows, asks.rows) ? 'long' : undefined}
        onKeyDown={moveAmongRows}
        onClick={clickRow}
      >
        <caption class="visually-hidden">Order book</caption>
        <thead>
          <tr>
            <th scope="col" class="own">
              <span class="visually-hidden">Yours</span>
            </th>
            <th scope="col" class="number">
              Price <span class="unit">{market.quoteToken}</span>
            </th>
            <th scope="col" class="number">
              Size <span class="unit">{market.baseToken}</span>
            </th>
            <th scope="col" class="number">
              Total <span class="unit">{market.baseToken}</span>
            </th>
          </tr>
        </thead>
        <Side side="ask" {...asks} places={places} />
        <tbody class="spread">
          <tr>
            <td colSpan={4}>
              {spread === null ? (
                <span class="muted">{frame.value === null ? 'Waiting for the book…' : 'No spread'}</span>
              ) : (
                <>
                  <span class="muted">Mid</span> <strong>{shown(spread.mid)}</strong>{' '}
                  <span class="muted">Spread</span> <span>{shown(spread.spread)}</span>{' '}
                  <span class="muted">{shownWithin(spread.percent)}&nbsp;%</span>
                </>
              )}
            </td>
          </tr>
        </tbody>
        <Side side="bid" {...bids} places={places} />
      </table>
    </Scroller>
  );
}

/** Maximum digits that fit into a third of the narrowest book. */
const MAX_DIGITS = 11;

/** True when the figures need a smaller font, because no digit of them may be left out. */
const isLong = (...sides: readonly (readonly BookRow[])[]): boolean =>
  sides.some((rows) =>
    rows.some(({ price, size, total }) => Math.max(price.length, size.length, total.length) > MAX_DIGITS),
  );

interface SideProps {
  readonly side: BookSide;
  /** In the order on the screen. */
  readonly rows: readonly BookRow[];
  readonly own: ReadonlySet<string>;
  readonly places: Places;
}

/** Decimals of the market's grid. */
interface Places {
  readonly price: number;
  readonly size: number;
}

function Side({ side, rows, own, places }: SideProps) {
  const clickable = streamState.value === 'live';
  const best = side === 'ask' ? rows.at(-1) : rows[0];
  return (
    <tbody class={side} aria-label={side === 'ask' ? 'Asks' : 'Bids'}>
      {rows.map((row) => (
        <Row
          key={row.price}
          {...row}
          own={own.has(row.price)}
          clickable={clickable}
          isBest={row === best}
          numbers={numbers.value}
          pricePlaces={places.price}
          sizePlaces={places.size}
        />
      ))}
      {rows.length === 0 && frame.value !== null && (
        <tr class="empty">
          <td colSpan={4}>{side === 'ask' ? 'No asks' : 'No bids'}</td>
        </tr>
      )}
    </tbody>
  );
}

interface BookRowProps extends BookRow {
  readonly own: boolean;
  readonly clickable: boolean;
  /** The best row of each side is where the Tab key enters the book. */
  readonly isBest: boolean;
  readonly pricePlaces: number;
  readonly sizePlaces: number;
  /** The style of the figures, of which the row would learn nothing otherwise. */
  readonly numbers: 'plain' | 'grouped';
}

/** One price row. It is drawn again only when something in it changed. */
class Row extends Component<BookRowProps> {
  override shouldComponentUpdate(next: BookRowProps): boolean {
    const names = Object.keys(next) as (keyof BookRowProps)[];
    return names.some((name) => next[name] !== this.props[name]);
  }

  override render({
    price,
    size,
    total,
    depth,
    own,
    clickable,
    isBest,
    pricePlaces,
    sizePlaces,
  }: BookRowProps) {
    return (
      <tr style={{ '--depth': `${depth}%` }}>
        <td class="own">
          {own && (
            <>
              <span class="own-mark" aria-hidden="true" />
              <span class="visually-hidden">yours</span>
            </>
          )}
        </td>
        <td class="number price">
          <button
            type="button"
            disabled={!clickable}
            tabIndex={isBest ? 0 : -1}
            aria-label={own ? `${shown(price)}, yours` : undefined}
            value={price}
            data-zeros={shownZeros(price, pricePlaces)}
          >
            {shown(price)}
          </button>
        </td>
        <td class="number" data-zeros={shownZeros(size, sizePlaces)}>
          {shown(size)}
        </td>
        <td class="number" data-literal={total} data-zeros={shownZeros(total, sizePlaces)}>
          {shown(total)}
        </td>
      </tr>
    );
  }
}

/**
 * A click on a row fills its price, and the side that takes it if the reader wants so. A click on a size or a total also
 * fills the sum up to the row, as Shift does with the price.
 */
function clickRow(event: MouseEvent): void {
  const cell = (event.target as Element).closest('td');
  const row = cell?.closest('tr');
  const button = row?.querySelector<HTMLButtonElement>('.price button');
  if (!cell || !row || !button || button.disabled) return;
  const isSum = event.shiftKey || cell.cellIndex >= FIRST_SUM;
  const isAsk = row.parentElement?.classList.contains('ask');
  fillFromBook({
    price: button.value,
    ...(isSum && { size: row.cells[LAST_CELL]?.dataset.literal ?? '' }),
    ...(bookClick.value === 'takes' && { side: isAsk ? 'buy' : 'sell' }),
  });
}

/** Cells of a row: a mark, price, size, total. */
const FIRST_SUM = 2;
const LAST_CELL = 3;

/** Arrow keys, Home and End go from row to row, so that the Tab key need not pass through all of them. */
function moveAmongRows(event: KeyboardEvent): void {
  const step = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined) return;
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll('button')];
  const at = buttons.indexOf(event.target as HTMLButtonElement);
  if (at === -1) return;
  event.preventDefault();
  buttons[Math.min(buttons.length - 1, Math.max(0, at + step))]?.focus();
}
