/**
 * Reads fills of orders. Statements write each fill as a few fields of a line, and replies show most fields unchanged.
 */

import type { Fill, FillRole } from '../domain/order.ts';
import { joinedInOneLine, joinedLines, lineOf, rowsOf } from './lines.ts';
import { type Moment, ofSegments, TRADES } from './moment.ts';
import { orderById } from './order-rows.ts';
import { type Direction, walkOf } from './walk.ts';

const NO_BOUND = String(Number.MAX_SAFE_INTEGER);

/** SQL expressions of the fields of a fill, in the order in which `readFill` reads them. The maker pays no fee. */
export const fillFields = (role: FillRole): readonly string[] => [
  'trade_id',
  `'${role}'`,
  'price_ticks',
  'size_steps',
  'notional_atoms',
  role === 'taker' ? 'fee_atoms' : '0',
  'time_ms',
];

export const FILL_FIELDS = fillFields('maker').length;

/** Reads the fill that begins at a field of a line. */
export const readFill = (fields: readonly string[], at: number): Fill => ({
  tradeId: fields[at]!,
  role: fields[at + 1] as FillRole,
  priceTicks: fields[at + 2]!,
  sizeSteps: fields[at + 3]!,
  notionalAtoms: fields[at + 4]!,
  feeAtoms: fields[at + 5]!,
  timeMs: Number(fields[at + 6]),
});

/** Reads all fills from a field of a line on. */
export function readFills(fields: readonly string[], from: number): Fill[] {
  const fills: Fill[] = [];
  for (let at = from; at < fields.length; at += FILL_FIELDS) fills.push(readFill(fields, at));
  return fills;
}

/** A walk along an index of the trades of the segment `{0}` from one of its ends, in SQL. */
interface TradeWalk {
  /** Columns of the index before `trade_id`, and their values. */
  readonly columns: readonly string[];
  readonly values: readonly string[];
  /** Only trades before this one. */
  readonly before?: string;
  /** Only trades after this one. */
  readonly after?: string;
  /** From the newest down unless given. */
  readonly direction?: Direction;
  readonly where?: string;
  readonly limit: string;
}

/** Returns SQL that selects from the newest trades, or from the oldest. */
export const walkTrades = (
  selected: string,
  { columns, values, before = NO_BOUND, after = '0', direction = 'desc', where = 'true', limit }: TradeWalk,
): string =>
  `(select ${selected} from ${TRADES} where ${where}
    ${walkOf(direction, columns, 'trade_id', values, { after, before })} limit ${limit})`;

export const ROLES = ['taker', 'maker'] as const satisfies readonly FillRole[];

const tradesHeld = (more: string): string =>
  `(${ROLES.map((role) => `exists (select from ${TRADES} where ${role}_wallet = $1 ${more})`).join(' or ')})`;

/** SQL: the wallet $1 has trades in the segment. */
export const TRADES_HELD = tradesHeld('');
/** SQL: it has some of the market $2. */
export const TRADES_OF_MARKET_HELD = tradesHeld('and market = $2');

/** SQL of an order's id, and of the event that placed it. */
interface OrderInSql {
  readonly id: string;
  readonly sequence: string;
}

/** Returns the index of an order's fills in a role. An order takes in the event that places it, and never later. */
export const fillsIndex = (
  role: FillRole,
  { id, sequence }: OrderInSql,
): Pick<TradeWalk, 'columns' | 'values'> =>
  role === 'taker'
    ? { columns: ['sequence'], values: [sequence] }
    : { columns: ['maker_order_id'], values: [id] };

/**
 * Returns SQL of an order's newest fills of the segment `{0}` in the order of execution, all in one line; null for an
 * order without fills there. An order is a taker in the event that places it and a maker afterwards, so its taker fills
 * are read only where its maker fills are too few.
 * @param upTo sequence of the last event whose fills count
 */
export function newestFills(order: OrderInSql, limit: string, upTo?: string): string {
  const walk = (role: FillRole, max: string): string =>
    walkTrades(`trade_id, ${lineOf(...fillFields(role))} as line`, {
      ...fillsIndex(role, order),
      limit: max,
      where: upTo === undefined ? 'true' : `sequence <= ${upTo}`,
    });
  return `(
    with made as materialized ${walk('maker', limit)}
    select ${joinedInOneLine('line', 'trade_id')} from (
      select trade_id, line from made
      union all ${walk('taker', `${limit} - (select count(*) from made)`)}) as newest)`;
}

/** Newest fills of orders that were placed in the segment, and the event that changed each of them last. */
const FILLS = ofSegments(`select ${joinedLines(lineOf('id', 'updated_sequence', 'fills'), 'id')} from (
  select found.id, updated_sequence, ${newestFills({ id: 'found.id', sequence: 'found.sequence' }, 'share', '$3')} as fills
  from unnest($1::text[], $2::bigint[]) as asked (asked_id, share)
  cross join lateral (select id, sequence, updated_sequence from ${orderById('asked_id')}) as found
  ) as found`);

/** Newest fills of orders in a later segment, where they can only be makers. */
const LATER_FILLS = ofSegments(`select ${joinedLines(lineOf('id', 'fills'), 'id')} from (
  select id, ${newestFills({ id: 'id', sequence: '0' }, 'share', '$3')} as fills
  from unnest($1::text[], $2::bigint[]) as asked (id, share)) as found where fills is not null`);

/** SQL: the segment has fills that one of the orders $1 made. */
export const FILLS_HELD = `exists (select from ${TRADES} where maker_order_id = any($1::text[]))`;

interface FillsOfOrder {
  readonly id: string;
  readonly share: number;
  /** Those of the segment in which the order was placed. */
  readonly own: Fill[];
  /** The segments in which it was placed and changed last. */
  readonly placed: number;
  readonly changed: number;
  later: Fill[];
}

/**
 * Returns the newest fills of each order in the order of execution, by order id.
 * @param counts number of fills to read, by order id
 * @param upTo sequence of the last event whose fills count
 */
export async function fillsOf(
  moment: Moment,
  counts: ReadonlyMap<string, number>,
  upTo: number,
): Promise<Map<string, Fill[]>> {
  const orders: FillsOfOrder[] = [];
  for (const [placed, own] of moment.bySegment(counts.keys())) {
    const { lines } = await moment.ask(FILLS, [placed], [own, own.map((id) => counts.get(id)), upTo]);
    for (const [id, updated, ...fills] of rowsOf(lines))
      orders.push({
        id: id!,
        share: counts.get(id!)!,
        own: readFills(fills, 0),
        placed,
        changed: moment.segmentOf(Math.min(Number(updated), upTo)),
        later: [],
      });
  }
  const newest = Math.max(...orders.map(({ changed }) => changed));
  const oldest = Math.min(...orders.map(({ placed }) => placed));
  if (newest > oldest)
    await moment.page<Fill>({
      range: { from: newest, to: oldest + 1 },
      limit: orders.reduce((sum, { share }) => sum + share, 0),
      held: { sql: FILLS_HELD, values: [orders.map(({ id }) => id)] },
      ask: async (segment) => {
        const asked = orders.filter(
          ({ placed, changed, share, later }) =>
            placed < segment && segment <= changed && later.length < share,
        );
        if (asked.length === 0) return [];
        const shares = asked.map(({ share, later }) => share - later.length);
        const { lines } = await moment.ask(LATER_FILLS, [segment], [asked.map(({ id }) => id), shares, upTo]);
        const found = new Map(rowsOf(lines).map(([id, ...fields]) => [id!, readFills(fields, 0)]));
        for (const order of asked) order.later = [...(found.get(order.id) ?? []), ...order.later];
        return [...found.values()].flat();
      },
    });
  return new Map(
    orders.map(({ id, share, own, later }) => [
      id,
      later.length < share ? [...own, ...later].slice(-share) : later,
    ]),
  );
}
