/**
 * Reads fills of orders. Statements write each fill as a few fields of a line, and replies show most fields unchanged.
 */

import type { Fill, FillRole } from '../domain/order.ts';
import { joinedInOneLine, lineOf } from './lines.ts';
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

/** A walk along an index of trades from one of its ends, in SQL. */
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
  `(select ${selected} from public.trades where ${where}
    ${walkOf(direction, columns, 'trade_id', values, { after, before })} limit ${limit})`;

/** SQL of an order's id and of the event that placed it. */
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
 * Returns SQL of an order's newest fills in the order of execution, all in one line; null for an order without fills.
 * An order is a taker in the event that places it and a maker afterwards, so its taker fills are read only where its
 * maker fills are too few.
 * @param order its id, and the event that placed it
 * @param upTo sequence of the last event whose fills count
 */
export function newestFills(order: OrderInSql, limit: string, upTo?: string): string {
  const walk = (role: FillRole, max: string): string =>
    walkTrades(`trade_id, ${lineOf(...fillFields(role))} as line`, {
      ...fillsIndex(role, order),
      limit: max,
      ...(upTo !== undefined && { where: `sequence <= ${upTo}` }),
    });
  return `(
    with made as materialized ${walk('maker', limit)}
    select ${joinedInOneLine('line', 'trade_id')} from (
      select trade_id, line from made
      union all ${walk('taker', `${limit} - (select count(*) from made)`)}) as newest)`;
}
