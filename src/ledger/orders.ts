/** Reads settled orders, with as many of their fills as requested. */

import type { Cursor } from '../domain/event.ts';
import { type Fill, type FillLimits, isLive, type ListedOrder, placedIn } from '../domain/order.ts';
import { LISTED } from '../order/fields.ts';
import { maker } from '../order/maker.ts';
import { refusedWhileAway } from './away.ts';
import { fillsOf, newestFills, readFills } from './fills.ts';
import { firstOrderIn } from './first-after.ts';
import { joinedLines, lineOf, rowsOf } from './lines.ts';
import { type Moment, type Moments, ofSegments, rangeOf, type SegmentQuery } from './moment.ts';
import { ENDED_IN_SEGMENT, LISTED_LINE, LISTED_MEMBERS, LIVE_ORDERS, orderById } from './order-rows.ts';
import type { Pools } from './pools.ts';
import { askOnce } from './queries.ts';
import { storable } from './text.ts';
import { boundsWithin, isBounded, type TimeSpan } from './time-span.ts';
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
  fills: (fields) => readFills(fields, LISTED.length + 1),
});

/** An order with its fills of the segment in which it was placed, and the event of its last change. */
interface ReadOrder {
  readonly order: SettledOrder;
  readonly changed: number;
}

const readOrders = (lines: string | null): ReadOrder[] =>
  rowsOf(lines).map((fields) => ({ order: readOrder(fields), changed: Number(fields[LISTED.length]) }));

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
  select ${joinedLines(lineOf('head', OWN_FILLS), `sequence ${direction}`)} from (
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

const LISTS = { heads: statementsOf(headsOf, '$8'), whole: statementsOf(wholeOrdersOf, '$11') };

const BY_ID = ofSegments(
  `select ${lineOf(LISTED_LINE, 'updated_sequence', newestFills({ id: 'id', sequence: 'found.sequence' }, '$3'))}
    from (select * from ${orderById('$1')}) as found where wallet = $2`,
);

/** The id of an order by its client order id, unless it ended in another segment. */
const BY_CLIENT_ID = ofSegments(
  `${['public.live_orders', 'public.late_orders', 'segments.ended_orders_{0}']
    .map(
      (orders) =>
        `select id from ${orders} where wallet = $1 and client_order_id = $2 and client_order_id is not null`,
    )
    .join(' union all ')} limit 1`,
);

/** Orders between two events, both exclusive. */
interface PlacedBetween {
  readonly before: number;
  readonly after: number;
}

/** Reads a page, segment after segment. */
async function readPage(
  moment: Moment,
  wallet: string,
  { status, market, direction = 'desc', limit, touchedIds = [], fills }: OrdersPage,
  bounds: PlacedBetween,
): Promise<{ cursor: Cursor; orders: ReadOrder[] }> {
  const statements = (fills === undefined ? LISTS.heads : LISTS.whole)[direction];
  const query = statements[market === undefined ? 'ofAll' : 'ofMarket'][status ?? 'all'];
  const touched = new Set(touchedIds);
  // A page of live or of closed orders carries touched orders that are live, beyond its limit.
  const isListed = ({ order }: ReadOrder): boolean =>
    status === undefined || !(touched.has(order.id) && isLive(order.status));
  const orders: ReadOrder[] = [];
  const lowest = moment.segmentOf(bounds.after + 1);
  const highest = moment.segmentOf(bounds.before - 1);
  const { from, to } = rangeOf(direction, lowest, highest);
  let left = limit;
  for (let segment = from; ; segment += from <= to ? 1 : -1) {
    const own = moment.eventsOf(segment);
    const carried = segment === from ? bounds : { before: 0, after: 0 };
    const values: unknown[] = [
      wallet,
      Math.min(own.before, bounds.before),
      left,
      touchedIds,
      Math.max(own.after, bounds.after),
      carried.before,
      carried.after,
    ];
    if (fills !== undefined) {
      const wanted = orders.reduce((sum, { order }) => sum + shareOf(order, fills), 0);
      values.push(
        Math.min(fills.maxFillsPerOrder, fills.maxFillsPerReply),
        Math.max(0, fills.maxFillsPerReply - wanted),
        Math.max(0, fills.orders - orders.length),
      );
    }
    if (market !== undefined) values.push(market);
    const { cursor, lines } = await moment.ask(query, [segment], values);
    const found = readOrders(lines);
    orders.push(...found);
    left -= found.filter(isListed).length;
    if (left > 0 && segment !== to) continue;
    const sign = direction === 'asc' ? 1 : -1;
    if (touched.size > 0)
      orders.sort(({ order: one }, { order: other }) => sign * (one.sequence - other.sequence));
    return { cursor, orders };
  }
}

const shareOf = ({ fillCount }: ListedOrder, { maxFillsPerOrder, maxFillsPerReply }: FillLimits): number =>
  Math.min(fillCount, maxFillsPerOrder, maxFillsPerReply);

/** Returns the number of fills that each order of a page carries, by id. */
function sharesOf(
  orders: readonly ReadOrder[],
  fills: NonNullable<OrdersPage['fills']>,
): Map<string, number> {
  let left = fills.maxFillsPerReply;
  return new Map(
    orders.map(({ order }, at) => {
      const share = shareOf(order, fills);
      left -= share;
      return [order.id, at < fills.orders && left >= 0 ? share : 0];
    }),
  );
}

/** Reads the fills of orders that have some in other segments than that in which they were placed. */
async function completed(
  moment: Moment,
  orders: readonly ReadOrder[],
  shares: ReadonlyMap<string, number>,
): Promise<SettledOrder[]> {
  const counts = new Map<string, number>();
  for (const { order, changed } of orders) {
    const share = shares.get(order.id) ?? 0;
    if (share > 0 && moment.segmentOf(changed) !== moment.segmentOf(order.sequence))
      counts.set(order.id, share);
  }
  if (counts.size === 0) return orders.map(({ order }) => order);
  const found = await fillsOf(moment, counts, Number.MAX_SAFE_INTEGER);
  return orders.map(({ order }) => ({ ...order, fills: found.get(order.id) ?? order.fills }));
}

/** Looks for an order, from the newest segment down. */
async function findByClientId(moment: Moment, wallet: string, clientOrderId: string): Promise<string | null> {
  for (let segment = moment.newest; ; segment -= 1) {
    const { lines } = await moment.ask(BY_CLIENT_ID, [segment], [wallet, clientOrderId]);
    if (lines !== null || segment === 0) return lines;
  }
}

/** Reads an order of a wallet by its id. */
async function readById(
  moment: Moment,
  wallet: string,
  id: string,
  maxFills: number,
): Promise<{ cursor: Cursor; order: SettledOrder | null }> {
  const { cursor, lines } = await moment.ask(BY_ID, [moment.segmentOf(placedIn(id))], [id, wallet, maxFills]);
  const found = readOrders(lines);
  const shares = new Map(found.map(({ order }) => [order.id, Math.min(order.fillCount, maxFills)]));
  const [order = null] = await completed(moment, found, shares);
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
      const { beforeSequence = Number.MAX_SAFE_INTEGER, afterSequence = 0, span, fills } = page;
      return moments.read(
        lists,
        async (moment) => {
          const bounds = await boundsWithin(
            { before: beforeSequence, after: afterSequence },
            span,
            (timeMs) => firstOrderIn(moment, wallet, timeMs),
          );
          const read = await readPage(moment, wallet, page, bounds);
          const shares = fills === undefined ? new Map() : sharesOf(read.orders, fills);
          return { ...read, orders: await completed(moment, read.orders, shares) };
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
