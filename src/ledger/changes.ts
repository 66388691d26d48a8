/** Reads the settled changes of a wallet's orders in the order of their events, with the orders. */

import type { Cursor } from '../domain/event.ts';
import type { Fill, ListedOrder } from '../domain/order.ts';
import { KIND } from '../domain/order-life.ts';
import { maker } from '../order/maker.ts';
import { fillFields, fillsIndex, readFills, walkTrades } from './fills.ts';
import { joinedInOneLine, joinedLines, lineOf, rowsOf } from './lines.ts';
import { type Moment, type Moments, ofSegments, rangeOf, TRADES } from './moment.ts';
import {
  areHeld,
  ENDED_IN_SEGMENT,
  LISTED_LINE,
  LISTED_MEMBERS,
  LIVE_ORDERS,
  orderById,
} from './order-rows.ts';
import type { Pools } from './pools.ts';
import { startOf } from './walk.ts';

/** A change of one order by one event. Its sequence, kind and key name its place among all changes. */
export interface OrderChange {
  readonly sequence: number;
  readonly kind: number;
  /** Trade id of a fill, the order's own sequence of a closing, else 0. */
  readonly key: number;
  readonly orderId: string;
  readonly timeMs: number;
  /** Fills of this change in the order of execution, the newest if there are more than the reader takes. */
  readonly fills: readonly Fill[];
}

/** The place after a change. */
type Place = Pick<OrderChange, 'sequence' | 'kind' | 'key'>;

interface ChangesPage {
  /** Only changes after this one. */
  readonly after: Place;
  readonly limit: number;
  /** Maximum fills of a change. */
  readonly maxFills: number;
  /** Further orders to read. */
  readonly orderIds: readonly string[];
}

const placedSince = (orders: string): string =>
  `(select sequence, ${KIND.placed} as kind, 0::bigint as trade, 0::bigint as key, id, created_at_ms as time_ms from ${orders}
    ${startOf(['wallet'], 'sequence', ['$1'], '$2', '$10')} limit $3)`;

/** The closed order of the place. */
const toldOf = (orders: string): string =>
  `select id from ${orders} and closed_sequence = $2
    and (wallet, sequence) >= ($1, $7::bigint) and (wallet, sequence) <= ($1, $7::bigint)`;

/**
 * All orders that one event closed are read, because they have no order in the index. In the event of the place, those
 * after the order with the key are taken.
 */
const closedSince = (orders: string): string => `
  (select closed_sequence, ${KIND.closed}, 0, sequence, id, updated_at_ms from ${orders}
      and reason is not null and closed_sequence > sequence
      and (closed_sequence > $2 or id > coalesce((${ENDED_IN_SEGMENT.map(toldOf).join(' union all ')}), ''))
      ${startOf(['wallet'], 'closed_sequence', ['$1'], '$9', '$10')} fetch first $3 rows with ties)`;

const FILLED_SINCE = `
  (select found.* from public.markets cross join since
    cross join lateral (select sequence, ${KIND.filled}, trade_id, trade_id, maker_order_id, time_ms from ${TRADES}
      where true ${startOf(['maker_wallet', 'market'], 'trade_id', ['$1', 'markets.symbol'], 'since.trade - 1')}
      limit $3) as found)`;

const FILLS = `
  case kind
    when ${KIND.placed} then (select ${joinedInOneLine('line', 'trade_id')} from ${walkTrades(
      `trade_id, ${lineOf(...fillFields('taker'))} as line`,
      { ...fillsIndex('taker', { id: 'id', sequence: 'changed.sequence' }), limit: '$4' },
    )} as taken)
    when ${KIND.filled} then (select ${lineOf(...fillFields('maker'))} from ${TRADES} where trade_id = key)
  end`;

/** SQL: the wallet has changes by the events of the segment. */
const CHANGES_HELD = `exists (select from ${TRADES} where maker_wallet = $1) or ${areHeld([LIVE_ORDERS, ...ENDED_IN_SEGMENT])}
  or exists (select from public.late_orders where reason is not null and closed_sequence > sequence
    ${startOf(['wallet'], 'closed_sequence', ['$1'], '{after}', '{before}')})`;

/** SQL of an order that a change or the reader names, in a line. */
const orderLines = (named: string): string => `
  select ${lineOf(`'order'`, LISTED_LINE)} as line from (${named}) as named
  cross join lateral (select * from ${orderById('named_id')}) as found
  where wallet = $1`;

/**
 * Changes by the events of a segment, before the event $10, with their orders. A maker that was placed in an earlier
 * segment is live or ended late, so no order of a change lies in another segment. Of the orders that the reader names,
 * those that ended in another one are missing.
 */
const CHANGES = ofSegments(`
    with since as materialized (
        select greatest(coalesce(
          (select trade_id from ${TRADES} where sequence > $6 order by sequence, trade_id limit 1),
          ${Number.MAX_SAFE_INTEGER}), $8::bigint + 1) as trade),
      changed as materialized (
        select row_number() over () as place, * from (
          select * from (
            ${[...[LIVE_ORDERS, ...ENDED_IN_SEGMENT].map(placedSince), ...ENDED_IN_SEGMENT.map(closedSince), FILLED_SINCE].join(' union all ')}) as each
          order by sequence, kind, trade, id limit $3) as ordered)
    select ${joinedLines('line', 'place')} from (
      select place, ${lineOf(`'change'`, 'sequence', 'kind', 'key', 'id', 'time_ms', FILLS)} as line from changed
      union all
      select null, line
      from (${orderLines('select id as named_id from changed union select unnest($5::text[])')}) as orders) as lines`);

const ORDERS = ofSegments(
  `select ${joinedLines('line', 'line')} from (${orderLines('select unnest($2::text[]) as named_id')}) as orders`,
);

const readOrder = maker<[fields: readonly string[]], ListedOrder>('changedOrder', LISTED_MEMBERS);

const readChange = ([, sequence, kind, key, orderId, timeMs, ...fills]: readonly string[]): OrderChange => ({
  sequence: Number(sequence),
  kind: Number(kind),
  key: Number(key),
  orderId: orderId!,
  timeMs: Number(timeMs),
  fills: readFills(fills, 0),
});

/** Returns the parameters of `CHANGES`. */
function parametersOf(
  wallet: string,
  { sequence, kind, key }: Place,
  before: number,
  { limit, maxFills, orderIds }: Omit<ChangesPage, 'after'>,
): unknown[] {
  const afterTrade = kind === KIND.filled ? key : 0;
  const afterClosed = kind === KIND.closed ? key : 0;
  const [tradesAfter, closedAfter] = [KIND.filled, KIND.closed].map((last) =>
    kind > last ? sequence : sequence - 1,
  );
  return [
    wallet,
    sequence,
    limit,
    maxFills,
    orderIds,
    tradesAfter,
    afterClosed,
    afterTrade,
    closedAfter,
    before,
  ];
}

/** Returns the segment in which a page begins. */
const firstOf = (moment: Moment, { sequence, kind }: Place): number =>
  moment.segmentOf(kind === KIND.after ? sequence + 1 : sequence);

const isChange = ([first]: readonly string[]): boolean => first === 'change';

/** Reads changes, segment after segment. The first answer has the orders that the reader named. */
function linesAfter(
  moment: Moment,
  wallet: string,
  { after, limit, orderIds, ...page }: ChangesPage,
): Promise<string[][]> {
  const first = firstOf(moment, after);
  return moment.page<string[]>({
    range: rangeOf('asc', first, moment.newest),
    limit,
    held: { sql: CHANGES_HELD, values: [wallet] },
    ask: async (segment, left) => {
      const own = moment.eventsOf(segment);
      const from = segment === first ? after : { sequence: own.after, kind: KIND.after, key: 0 };
      const asked = { ...page, limit: left, orderIds: segment === first ? orderIds : [] };
      const { lines } = await moment.ask(CHANGES, [segment], parametersOf(wallet, from, own.before, asked));
      return rowsOf(lines);
    },
    countOf: (line) => (isChange(line) ? 1 : 0),
  });
}

/** Reads orders that ended in other segments than the one in which the page begins. */
async function ordersElsewhere(moment: Moment, wallet: string, ids: readonly string[]): Promise<string[][]> {
  const found: string[][] = [];
  for (const [segment, own] of moment.bySegment(ids))
    found.push(...rowsOf((await moment.ask(ORDERS, [segment], [wallet, own])).lines));
  return found;
}

export type ChangeQueries = ReturnType<typeof changeQueries>;

export function changeQueries({ lists }: Pick<Pools, 'lists'>, moments: Moments) {
  return {
    /** Returns changes of the wallet's orders, oldest first, with the orders as they are now. */
    ofWallet: (
      wallet: string,
      page: ChangesPage,
    ): Promise<{ cursor: Cursor; changes: OrderChange[]; orders: ListedOrder[] }> =>
      moments.read(lists, async (moment) => {
        const lines = await linesAfter(moment, wallet, page);
        const orders = new Map<string, ListedOrder>();
        const addOrders = (added: readonly string[][]): void => {
          for (const [, ...fields] of added) {
            const order = readOrder(fields);
            orders.set(order.id, order);
          }
        };
        addOrders(lines.filter((line) => !isChange(line)));
        const first = firstOf(moment, page.after);
        const missing = page.orderIds.filter((id) => !orders.has(id) && moment.segmentOfOrder(id) !== first);
        if (missing.length > 0) addOrders(await ordersElsewhere(moment, wallet, missing));
        return {
          cursor: moment.cursor,
          changes: lines.filter(isChange).map(readChange),
          orders: [...orders.values()],
        };
      }),
  };
}
