/** Reads settled orders, with as many of their fills as requested. */

import type { Cursor } from '../domain/event.ts';
import { type Fill, type FillLimits, isLive, type ListedOrder } from '../domain/order.ts';
import { LISTED } from '../order/fields.ts';
import { maker } from '../order/maker.ts';
import { refusedWhileAway } from './away.ts';
import { fillsOf, newestFills, readFills } from './fills.ts';
import { firstOrderIn } from './first-after.ts';
import { joinedLines, lineOf, rowsOf } from './lines.ts';
import { type Moment, type Moments, ofSegments, rangeOf, type SegmentQuery } from './moment.ts';
import {
  areHeld,
  ENDED_IN_SEGMENT,
  LISTED_LINE,
  LISTED_MEMBERS,
  LIVE_ORDERS,
  orderById,
} from './order-rows.ts';
import type { Pools } from './pools.ts';
import { askOnce } from './queries.ts';
import { storable } from './text.ts';
import { type Bounds, boundsWithin, isBounded, type TimeSpan } from './time-span.ts';
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
  fills: (fields) => readFills(fields, LISTED.length + 2),
});

/** An order with its fills of the segment in which it was placed. */
interface ReadOrder {
  readonly order: SettledOrder;
  /** The event of its last change. */
  readonly changed: number;
  /** The number of fills that it carries, of any segment. */
  readonly share: number;
}

const readOrders = (lines: string | null): ReadOrder[] =>
  rowsOf(lines).map((fields) => ({
    order: readOrder(fields),
    changed: Number(fields[LISTED.length]),
    share: Number(fields[LISTED.length + 1] ?? 0),
  }));

const COLUMNS = `id, wallet, sequence, updated_sequence, fill_count, ${lineOf(LISTED_LINE, 'updated_sequence')} as head`;

/**
 * Returns SQL of the orders of a wallet that were placed in the segment `{0}`, by status, from the indexes on (wallet,
 * sequence), or on (market, wallet, sequence) for the orders of one market. $6 and $7 bound the touched orders, which
 * may be of any segment.
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
  const firstOf = (tables: readonly string[]): string =>
    `(select * from (${tables.map(first).join(' union all ')}) as each
      order by wallet ${direction}, sequence ${direction} limit $3)`;
  // `offset 0` keeps Postgres from using an index other than that of the ids for the conditions after it.
  const touched = `(select ${COLUMNS} from unnest($4::text[]) as touched (touched_id)
    cross join lateral (select * from public.live_orders where id = touched_id offset 0) as found
    where wallet = $1 ${market === undefined ? '' : `and market = ${market}`}
      and sequence < $6 and sequence > $7)`;
  return {
    // Each statement has the same parameters, so this page must mention those of touched orders, too.
    all: firstOf([
      `${LIVE_ORDERS} and $4::text[] is not null and $6::bigint + $7::bigint is not null`,
      ...ENDED_IN_SEGMENT,
    ]),
    live: `${first(`${LIVE_ORDERS} and id <> all($4)`)} union all ${touched}`,
    closed: `${firstOf(ENDED_IN_SEGMENT)} union all ${touched}`,
  };
}

function heldIn(tables: readonly string[]) {
  return { ofAll: areHeld(tables), ofMarket: areHeld(tables, '$2') };
}

type WriteList = (page: string, direction: Direction) => string;

const headsOf: WriteList = (page, direction) =>
  `select ${joinedLines('head', `sequence ${direction}`)} from (${page}) as page`;

const OWN_FILLS = newestFills({ id: 'id', sequence: 'shared.sequence' }, 'share');

/**
 * Returns SQL of orders with their fills of the segment. $8 limits the fills of an order, $9 those of all orders, without
 * those of segments that were read before, and $10 the orders that carry fills. The first order whose fills have no room,
 * and all after it, carry none: the reply ends there.
 */
const wholeOrdersOf: WriteList = (page, direction) => `
  select ${joinedLines(lineOf('head', 'share', OWN_FILLS), `sequence ${direction}`)} from (
    select id, sequence, head,
      case when row_number() over listed > $10 or sum(wanted) over listed > $9 then 0 else wanted end as share
    from (select *, least(fill_count, $8)::integer as wanted from (${page}) as page) as limited
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
): Record<Name, SegmentQuery> {
  const written = Object.entries<string>(pages).map(([name, page]) => [
    name,
    ofSegments(write(page, direction)),
  ]);
  return Object.fromEntries(written);
}

/** SQL: the wallet $1 has orders of a status that were placed in the segment, and of the market $2. */
const HELD = {
  all: heldIn([LIVE_ORDERS, ...ENDED_IN_SEGMENT]),
  live: heldIn([LIVE_ORDERS]),
  closed: heldIn(ENDED_IN_SEGMENT),
};

const LISTS = { heads: statementsOf(headsOf, '$8'), whole: statementsOf(wholeOrdersOf, '$11') };

const BY_ID = ofSegments(
  `select ${lineOf(
    LISTED_LINE,
    'updated_sequence',
    'least(fill_count, $3)',
    newestFills({ id: 'id', sequence: 'found.sequence' }, '$3'),
  )}
    from (select * from ${orderById('$1')}) as found where wallet = $2`,
);

const withClientId = (orders: string): string =>
  `select id from ${orders} where wallet = $1 and client_order_id = $2 and client_order_id is not null`;

/** The id of an order by its client order id, unless it ended in another segment. */
const BY_CLIENT_ID = ofSegments(
  `${['public.live_orders', 'public.late_orders', 'segments.ended_orders_{0}'].map(withClientId).join(' union all ')} limit 1`,
);

/**
 * Returns the limits of the fills that further orders of a page carry. Once the fills of an order had no room, those of
 * later ones have none.
 */
function limitsAfter(
  found: readonly ReadOrder[],
  { maxFillsPerOrder, maxFillsPerReply, orders }: NonNullable<OrdersPage['fills']>,
): number[] {
  const isFull = found.some(({ order, share }) => order.fillCount > 0 && share === 0);
  const left = isFull ? 0 : found.reduce((sum, { share }) => sum - share, maxFillsPerReply);
  return [Math.min(maxFillsPerOrder, maxFillsPerReply), left, Math.max(0, orders - found.length)];
}

/** SQL: an order with the client order id ended in the segment. */
const CLIENT_ID_HELD = `exists (${withClientId('segments.ended_orders_{0}')})`;

/** Reads a page, segment after segment. */
async function readPage(
  moment: Moment,
  wallet: string,
  { status, market, direction = 'desc', limit, touchedIds = [], fills }: OrdersPage,
  bounds: Bounds,
): Promise<ReadOrder[]> {
  const statements = (fills === undefined ? LISTS.heads : LISTS.whole)[direction];
  const which = market === undefined ? 'ofAll' : 'ofMarket';
  const query = statements[which][status ?? 'all'];
  const touched = new Set(touchedIds);
  // A page of live or of closed orders carries touched orders that are live, beyond its limit.
  const isListed = ({ order }: ReadOrder): boolean =>
    status === undefined || !(touched.has(order.id) && isLive(order.status));
  const range = rangeOf(direction, moment.segmentOf(bounds.after + 1), moment.segmentOf(bounds.before - 1));
  const orders = await moment.page<ReadOrder>({
    range,
    limit,
    held: { sql: HELD[status ?? 'all'][which], values: market === undefined ? [wallet] : [wallet, market] },
    ask: async (segment, left, found) => {
      const own = moment.eventsOf(segment);
      const carried = segment === range.from ? bounds : { before: 0, after: 0 };
      const values = [
        wallet,
        Math.min(own.before, bounds.before),
        left,
        touchedIds,
        Math.max(own.after, bounds.after),
        carried.before,
        carried.after,
        ...(fills === undefined ? [] : limitsAfter(found, fills)),
        ...(market === undefined ? [] : [market]),
      ];
      return readOrders((await moment.ask(query, [segment], values)).lines);
    },
    countOf: (order) => (isListed(order) ? 1 : 0),
  });
  const sign = direction === 'asc' ? 1 : -1;
  if (touched.size > 0)
    orders.sort(({ order: one }, { order: other }) => sign * (one.sequence - other.sequence));
  return orders;
}

/** Reads the fills of orders that have some in other segments than that in which they were placed. */
async function completed(moment: Moment, orders: readonly ReadOrder[]): Promise<SettledOrder[]> {
  const counts = new Map<string, number>();
  for (const { order, changed, share } of orders) {
    if (share > 0 && moment.segmentOf(changed) !== moment.segmentOf(order.sequence))
      counts.set(order.id, share);
  }
  if (counts.size === 0) return orders.map(({ order }) => order);
  const found = await fillsOf(moment, counts, Number.MAX_SAFE_INTEGER);
  return orders.map(({ order }) => ({ ...order, fills: found.get(order.id) ?? order.fills }));
}

/** Looks for an order, from the newest segment down. */
async function findByClientId(moment: Moment, wallet: string, clientOrderId: string): Promise<string | null> {
  const values = [wallet, clientOrderId];
  const [id = null] = await moment.page<string>({
    range: rangeOf('desc', 0, moment.newest),
    limit: 1,
    held: { sql: CLIENT_ID_HELD, values },
    ask: async (segment) => {
      const { lines } = await moment.ask(BY_CLIENT_ID, [segment], values);
      return lines === null ? [] : [lines];
    },
  });
  return id;
}

/** Reads an order of a wallet by its id. */
async function readById(
  moment: Moment,
  wallet: string,
  id: string,
  maxFills: number,
): Promise<{ cursor: Cursor; order: SettledOrder | null }> {
  const { cursor, lines } = await moment.ask(BY_ID, [moment.segmentOfOrder(id)], [id, wallet, maxFills]);
  const [order = null] = await completed(moment, readOrders(lines));
  return { cursor, order };
}

export type OrderQueries = ReturnType<typeof orderQueries>;

/** Reads of settled orders. */
export function orderQueries(
  { lists, orders, placing }: Pick<Pools, 'lists' | 'orders' | 'placing'>,
  moments: Moments,
) {
  const idByClientId =
    (pool: typeof orders) =>
    (wallet: string, clientOrderId: string): Promise<string | null> =>
      moments.read(pool, (moment) => findByClientId(moment, wallet, storable(clientOrderId)));
  return {
    /** Returns a page of the wallet's orders in its direction, with the fills that the page asks for. */
    ofWallet(wallet: string, page: OrdersPage): Promise<{ cursor: Cursor; orders: SettledOrder[] }> {
      const { beforeSequence = Number.MAX_SAFE_INTEGER, afterSequence = 0, span } = page;
      return moments.read(
        lists,
        async (moment) => {
          const bounds = await boundsWithin(
            { before: beforeSequence, after: afterSequence },
            span,
            (timeMs) => firstOrderIn(moment, wallet, timeMs),
          );
          const orders = await completed(moment, await readPage(moment, wallet, page, bounds));
          return { cursor: moment.cursor, orders };
        },
        isBounded(span),
      );
    },

    /** Returns an order of the wallet, with its newest fills up to a number. */
    byId(
      wallet: string,
      id: string,
      maxFills: number,
    ): Promise<{ cursor: Cursor; order: SettledOrder | null }> {
      return moments.read(orders, (moment) => readById(moment, wallet, id, maxFills));
    },

    /**
     * Returns the newest fills of each order, by order id and in the order of execution.
     * @param counts number of fills to read, by order id
     * @param cursor of the read that found the orders: later fills are left out. Trades never change, so no snapshot is
     *   held.
     */
    async fills(counts: ReadonlyMap<string, number>, cursor: Cursor): Promise<Map<string, Fill[]>> {
      const asked = new Map([...counts].filter(([, count]) => count > 0));
      if (asked.size === 0) return new Map();
      return moments.read(lists, (moment) => fillsOf(moment, asked, cursor.sequence));
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
