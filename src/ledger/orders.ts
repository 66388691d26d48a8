/** Reads settled orders, with as many of their fills as requested. */

import type { Cursor } from '../domain/event.ts';
import { type Fill, type FillLimits, type ListedOrder, placedIn } from '../domain/order.ts';
import { LISTED } from '../order/fields.ts';
import { maker } from '../order/maker.ts';
import { refusedWhileAway } from './away.ts';
import { readCursorText, withCursor } from './cursor.ts';
import { newestFills, readFills } from './fills.ts';
import { firstOrderAt } from './first-after.ts';
import { joinedLines, lineOf, rowsOf } from './lines.ts';
import { ENDED_ORDERS, LISTED_LINE, LISTED_MEMBERS, LIVE_ORDERS } from './order-rows.ts';
import type { Pools } from './pools.ts';
import { type Ask, askForTexts, askOnce, type PreparedQuery, prepared } from './queries.ts';
import { storable } from './text.ts';
import { askWithin, type TimeSpan } from './time-span.ts';
import { type Direction, walkOf } from './walk.ts';

/** `fills`: the newest ones, as many as requested, in the order of execution. */
type SettledOrder = ListedOrder & { readonly fills: readonly Fill[] };

interface OrdersPage {
  readonly status?: 'live' | 'closed' | undefined;
  /** Symbol; orders of every market unless given. */
  readonly market?: string | undefined;
  /** Only orders that were placed before this event. */
  readonly beforeSequence?: number | undefined;
  /** Only orders that were placed after this event. */
  readonly afterSequence?: number | undefined;
  /** Only orders that were placed in this span. */
  readonly span?: TimeSpan | undefined;
  /** The newest first unless given. */
  readonly direction?: Direction | undefined;
  readonly limit: number;
  /**
   * Orders that the engine filled or closed, settled or not. A page of live or of closed orders also carries those of
   * them that are live in the ledger, beyond its limit: the reader knows their later state.
   */
  readonly touchedIds?: readonly string[] | undefined;
  /**
   * Limits of the fills that the first `orders` of the page carry, as long as all of theirs have room; no fills unless
   * given.
   */
  readonly fills?: (FillLimits & { readonly orders: number }) | undefined;
}

const readOrder = maker<[fields: readonly string[]], SettledOrder>('settledOrder', {
  ...LISTED_MEMBERS,
  fills: (fields) => readFills(fields, LISTED.length),
});

const COLUMNS = `id, wallet, sequence, fill_count, ${LISTED_LINE} as head`;

/**
 * Returns SQL of pages of a wallet's orders by status, from the indexes on (wallet, sequence), or on (market, wallet,
 * sequence) for the orders of one market.
 * @param market parameter of the market
 */
function pagesOf(direction: Direction, market?: string): Record<'all' | 'live' | 'closed', string> {
  const [columns, values] =
    market === undefined
      ? [['wallet'], ['$1']]
      : [
          ['market', 'wallet'],
          [market, '$1'],
        ];
  const first = (from: string): string =>
    `(select ${COLUMNS} from ${from}
      ${walkOf(direction, columns, 'sequence', values, { before: '$2', after: '$5' })} limit $3)`;
  // `offset 0` keeps Postgres from using an index other than that of the ids for the conditions after it.
  const touched = `(select ${COLUMNS} from unnest($4::text[]) as touched (touched_id)
    cross join lateral (select * from public.live_orders where id = touched_id offset 0) as found
    where wallet = $1 ${market === undefined ? '' : `and market = ${market}`}
      and sequence < $2 and sequence > $5)`;
  return {
    // The first live and the first ended orders. Each statement has the same parameters, so this page must mention $4,
    // too.
    all: `(select * from (
      ${first(`${LIVE_ORDERS} and $4::text[] is not null`)} union all ${first(ENDED_ORDERS)}
      ) as either order by wallet ${direction}, sequence ${direction} limit $3)`,
    live: `${first(`${LIVE_ORDERS} and id <> all($4)`)} union all ${touched}`,
    closed: `${first(ENDED_ORDERS)} union all ${touched}`,
  };
}

type WriteList = (page: string, direction: Direction) => string;

const headsOf: WriteList = (page, direction) =>
  `select ${joinedLines('head', `sequence ${direction}`)} from (${page}) as page`;

/**
 * Returns SQL of orders with fills. $6 limits the fills of an order, $7 those of all orders, $8 the orders that carry
 * fills. The first order whose fills have no room, and all after it, carry none: the reply ends there.
 */
const wholeOrdersOf: WriteList = (page, direction) => `
  select ${joinedLines(lineOf('head', newestFills({ id: 'id', sequence: 'shared.sequence' }, 'share')), `sequence ${direction}`)} from (
    select id, sequence, head,
      case when row_number() over listed > $8 or sum(most) over listed > $7 then 0 else most end as share
    from (select *, least(fill_count, $6, $7)::integer as most from (${page}) as page) as limited
    window listed as (order by sequence ${direction} rows unbounded preceding)
  ) as shared`;

/** @param market parameter that follows the others of the statement */
function statementsOf(write: WriteList, market: string) {
  const inDirection = (direction: Direction) => ({
    ofAll: prepareEach(write, direction, pagesOf(direction)),
    ofMarket: prepareEach(write, direction, pagesOf(direction, market)),
  });
  return { desc: inDirection('desc'), asc: inDirection('asc') };
}

function prepareEach<Name extends string>(
  write: WriteList,
  direction: Direction,
  pages: Record<Name, string>,
): Record<Name, PreparedQuery> {
  const written = Object.entries<string>(pages).map(([name, page]) => [
    name,
    prepared(withCursor(write(page, direction))),
  ]);
  return Object.fromEntries(written);
}

const LISTS = { heads: statementsOf(headsOf, '$6'), whole: statementsOf(wholeOrdersOf, '$9') };

const BY_ID = prepared(
  withCursor(`select ${lineOf(LISTED_LINE, newestFills({ id: 'id', sequence: 'found.sequence' }, '$3'))}
    from (select * from public.orders where id = $1 offset 0) as found where wallet = $2`),
);

const BY_CLIENT_ID = prepared(
  'select id from public.orders where wallet = $1 and client_order_id = $2 and client_order_id is not null',
);

const FILLS = prepared(`
  select ${joinedLines(lineOf('id', 'fills'), 'id')} from (
    select id, ${newestFills({ id: 'id', sequence: 'asked.sequence' }, 'share', '$3')} as fills
    from unnest($1::text[], $2::bigint[], $4::bigint[]) as asked (id, share, sequence)
  ) as found`);

export type OrderQueries = ReturnType<typeof orderQueries>;

/** Reads of settled orders. */
export function orderQueries({ lists, orders, placing }: Pick<Pools, 'lists' | 'orders' | 'placing'>) {
  /** Reads one row by one index. */
  const idByClientId =
    (pool: typeof orders) =>
    async (wallet: string, clientOrderId: string): Promise<string | null> => {
      const [id] = await askForTexts(pool, BY_CLIENT_ID, [wallet, storable(clientOrderId)]);
      return id;
    };
  return {
    /** Returns a page of the wallet's orders in its direction, with the fills that the page asks for. */
    async ofWallet(
      wallet: string,
      { status, market, direction = 'desc', limit, touchedIds = [], fills, ...bounds }: OrdersPage,
    ): Promise<{ cursor: Cursor; orders: SettledOrder[] }> {
      const further: unknown[] = [];
      if (fills !== undefined) further.push(fills.maxFillsPerOrder, fills.maxFillsPerReply, fills.orders);
      if (market !== undefined) further.push(market);
      const statements = (fills === undefined ? LISTS.heads : LISTS.whole)[direction];
      const list = statements[market === undefined ? 'ofAll' : 'ofMarket'][status ?? 'all'];
      const { beforeSequence: before = Number.MAX_SAFE_INTEGER, afterSequence: after = 0, span } = bounds;
      const firstAt = (ask: Ask, timeMs: number) => firstOrderAt(ask, wallet, timeMs);
      const [cursor, lines] = await askWithin(lists, list, { before, after, span, firstAt }, (bound) => [
        wallet,
        bound.before,
        limit,
        touchedIds,
        bound.after,
        ...further,
      ]);
      return { cursor: readCursorText(cursor), orders: rowsOf(lines).map(readOrder) };
    },

    /** Returns an order of the wallet, with its newest fills up to a number. */
    async byId(
      wallet: string,
      id: string,
      maxFills: number,
    ): Promise<{ cursor: Cursor; order: SettledOrder | null }> {
      const [cursor, line] = await askForTexts(orders, BY_ID, [id, wallet, maxFills]);
      const [fields] = rowsOf(line);
      return { cursor: readCursorText(cursor), order: fields === undefined ? null : readOrder(fields) };
    },

    /**
     * Returns the newest fills of each order, by order id and in the order of execution.
     * @param counts number of fills to read, by order id
     * @param cursor of the read that found the orders: later fills are left out. Trades never change, so no snapshot is
     *   held.
     */
    async fills(counts: ReadonlyMap<string, number>, cursor: Cursor): Promise<Map<string, Fill[]>> {
      const asked = [...counts].filter(([, count]) => count > 0);
      if (asked.length === 0) return new Map();
      const ids = asked.map(([id]) => id);
      const shares = asked.map(([, count]) => count);
      const places = ids.map(placedIn);
      const [text] = await askForTexts(lists, FILLS, [ids, shares, cursor.sequence, places]);
      return new Map(rowsOf(text).map(([id, ...fields]) => [id!, readFills(fields, 0)]));
    },

    /** Returns the id of the wallet's order with this client order id, or null; for callers that read an order. */
    idByClientId: idByClientId(orders),

    /**
     * Returns the same for callers that place an order, on connections that no reader can take. Rejects at once while
     * Postgres is known to be unavailable.
     */
    placedId: refusedWhileAway(idByClientId(placing), () => askOnce(placing, 'select 1')),
  };
}
