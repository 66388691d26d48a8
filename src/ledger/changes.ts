/** Reads the settled changes of a wallet's orders in the order of their events, with the orders. */

import type { Cursor } from '../domain/event.ts';
import type { Fill, ListedOrder } from '../domain/order.ts';
import { KIND } from '../domain/order-life.ts';
import { maker } from '../order/maker.ts';
import { readCursorText, withCursor } from './cursor.ts';
import { fillFields, fillsIndex, readFills, walkTrades } from './fills.ts';
import { firstTradeAfter } from './first-after.ts';
import { joinedInOneLine, joinedLines, lineOf, rowsOf } from './lines.ts';
import { ENDED_ORDERS, LISTED_LINE, LISTED_MEMBERS, LIVE_ORDERS } from './order-rows.ts';
import type { Pools } from './pools.ts';
import { askForTexts, prepared } from './queries.ts';
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

interface ChangesPage {
  /** Only changes after this one. */
  readonly after: Pick<OrderChange, 'sequence' | 'kind' | 'key'>;
  readonly limit: number;
  /** Maximum fills of a change. */
  readonly maxFills: number;
  /** Further orders to read. */
  readonly orderIds: readonly string[];
}

const placedSince = (orders: string): string =>
  `(select sequence, ${KIND.placed} as kind, 0::bigint as trade, 0::bigint as key, id, created_at_ms as time_ms from ${orders}
    ${startOf(['wallet'], 'sequence', ['$1'], '$2')} limit $3)`;

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
      and (closed_sequence > $2 or id > coalesce((${ENDED_ORDERS.map(toldOf).join(' union all ')}), ''))
      ${startOf(['wallet'], 'closed_sequence', ['$1'], '$9')} fetch first $3 rows with ties)`;

const FILLED_SINCE = `
  (select found.* from public.markets cross join since
    cross join lateral (select sequence, ${KIND.filled}, trade_id, trade_id, maker_order_id, time_ms from public.trades
      where true ${startOf(['maker_wallet', 'market'], 'trade_id', ['$1', 'markets.symbol'], 'since.trade - 1')}
      limit $3) as found)`;

const FILLS = `
  case kind
    when ${KIND.placed} then (select ${joinedInOneLine('line', 'trade_id')} from ${walkTrades(
      `trade_id, ${lineOf(...fillFields('taker'))} as line`,
      { ...fillsIndex('taker', { id: 'id', sequence: 'changed.sequence' }), limit: '$4' },
    )} as taken)
    when ${KIND.filled} then (select ${lineOf(...fillFields('maker'))} from public.trades where trade_id = key)
  end`;

const CHANGES = prepared(
  withCursor(`
    with since as materialized (
        select greatest(coalesce(${firstTradeAfter('$6')}, ${Number.MAX_SAFE_INTEGER}), $8::bigint + 1) as trade),
      changed as materialized (
        select row_number() over () as place, * from (
          select * from (
            ${[...[LIVE_ORDERS, ...ENDED_ORDERS].map(placedSince), ...ENDED_ORDERS.map(closedSince), FILLED_SINCE].join(' union all ')}) as each
          order by sequence, kind, trade, id limit $3) as ordered)
    select ${joinedLines('line', 'place')} from (
      select place, ${lineOf(`'change'`, 'sequence', 'kind', 'key', 'id', 'time_ms', FILLS)} as line from changed
      union all
      select null, ${lineOf(`'order'`, LISTED_LINE)}
      from (select id as named_id from changed union select unnest($5::text[])) as named
      cross join lateral (select * from public.orders where id = named_id offset 0) as found
      where wallet = $1) as lines`),
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

export type ChangeQueries = ReturnType<typeof changeQueries>;

export function changeQueries({ lists }: Pick<Pools, 'lists'>) {
  return {
    /** Returns changes of the wallet's orders, oldest first, with the orders as they are now. */
    async ofWallet(
      wallet: string,
      { after: { sequence, kind, key }, limit, maxFills, orderIds }: ChangesPage,
    ): Promise<{ cursor: Cursor; changes: OrderChange[]; orders: ListedOrder[] }> {
      const afterTrade = kind === KIND.filled ? key : 0;
      const afterClosed = kind === KIND.closed ? key : 0;
      const [tradesAfter, closedAfter] = [KIND.filled, KIND.closed].map((last) =>
        kind > last ? sequence : sequence - 1,
      );
      const parameters = [
        wallet,
        sequence,
        limit,
        maxFills,
        orderIds,
        tradesAfter,
        afterClosed,
        afterTrade,
        closedAfter,
      ];
      const [cursor, lines] = await askForTexts(lists, CHANGES, parameters);
      const rows = rowsOf(lines);
      const of = (kind: string): string[][] => rows.filter(([first]) => first === kind);
      return {
        cursor: readCursorText(cursor),
        changes: of('change').map(readChange),
        orders: of('order').map((fields) => readOrder(fields.slice(1))),
      };
    },
  };
}
