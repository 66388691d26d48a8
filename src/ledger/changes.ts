/** Reads the settled changes of a wallet's orders in the order of their events, with the orders. */

import type { Cursor } from '../domain/event.ts';
import type { Fill, ListedOrder } from '../domain/order.ts';
import { maker } from '../order/maker.ts';
import { readCursorText, withCursor } from './cursor.ts';
import { fillFields, readFills, walkTrades } from './fills.ts';
import { firstTradeAfter } from './first-after.ts';
import { joinedInOneLine, joinedLines, lineOf, rowsOf } from './lines.ts';
import { LISTED_LINE, LISTED_MEMBERS } from './order-rows.ts';
import type { Pools } from './pools.ts';
import { askForTexts, prepared } from './queries.ts';
import { startOf } from './walk.ts';

/** A change of one order by one event. */
export interface OrderChange {
  readonly sequence: number;
  readonly orderId: string;
  readonly timeMs: number;
  /** Fills of this change in the order of execution, the newest if there are more than the reader takes. */
  readonly fills: readonly Fill[];
}

interface ChangesPage {
  /** Only changes after this event. */
  readonly afterSequence: number;
  readonly limit: number;
  /** Most fills of a change. */
  readonly maxFills: number;
  /** Further orders to read. */
  readonly orderIds: readonly string[];
}

/** Kinds of changes in the order in which an event makes them. */
const KIND = { placed: 0, filled: 1, closed: 2 };

const placedSince = (where: string): string =>
  `(select sequence, ${KIND.placed} as kind, 0::bigint as trade, id, created_at_ms as time_ms from public.orders
    where ${where} ${startOf(['wallet'], 'sequence', ['$1'], '$2')} limit $3)`;

/** All orders that one event closed are read, because they have no order in the index. */
const CLOSED_SINCE = `
  (select closed_sequence, ${KIND.closed}, 0, id, updated_at_ms from public.orders
    where reason is not null and closed_sequence > sequence
      ${startOf(['wallet'], 'closed_sequence', ['$1'], '$2')} fetch first $3 rows with ties)`;

const FILLED_SINCE = `
  (select found.* from public.markets cross join since
    cross join lateral (select sequence, ${KIND.filled}, trade_id, maker_order_id, time_ms from public.trades
      where true ${startOf(['maker_wallet', 'market'], 'trade_id', ['$1', 'markets.symbol'], 'since.trade - 1')}
      limit $3) as found)`;

/** An order takes in the event that places it, and never later. */
const FILLS = `
  case kind
    when ${KIND.placed} then (select ${joinedInOneLine('line', 'trade_id')} from ${walkTrades(
      `trade_id, ${lineOf(...fillFields('taker'))} as line`,
      { columns: ['taker_order_id'], values: ['id'], limit: '$4' },
    )} as taken)
    when ${KIND.filled} then (select ${lineOf(...fillFields('maker'))} from public.trades where trade_id = trade)
  end`;

const CHANGES = prepared(
  withCursor(`
    with since as materialized (select coalesce(${firstTradeAfter('$2')}, ${Number.MAX_SAFE_INTEGER}) as trade),
      changed as materialized (
        select row_number() over () as place, * from (
          select * from (
            ${placedSince('closed_sequence is null')} union all ${placedSince('closed_sequence is not null')}
            union all ${CLOSED_SINCE} union all ${FILLED_SINCE}) as each
          order by sequence, kind, trade, id limit $3) as ordered)
    select ${joinedLines('line', 'place')} from (
      select place, ${lineOf(`'change'`, 'sequence', 'id', 'time_ms', FILLS)} as line from changed
      union all
      select null, ${lineOf(`'order'`, LISTED_LINE)}
      from (select id as named_id from changed union select unnest($5::text[])) as named
      cross join lateral (select * from public.orders where id = named_id offset 0) as found
      where wallet = $1) as lines`),
);

const readOrder = maker<[fields: readonly string[]], ListedOrder>(LISTED_MEMBERS);

const readChange = ([, sequence, orderId, timeMs, ...fills]: readonly string[]): OrderChange => ({
  sequence: Number(sequence),
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
      { afterSequence, limit, maxFills, orderIds }: ChangesPage,
    ): Promise<{ cursor: Cursor; changes: OrderChange[]; orders: ListedOrder[] }> {
      const parameters = [wallet, afterSequence, limit, maxFills, orderIds];
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
