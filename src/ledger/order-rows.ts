/** Reads and writes the rows of orders. The columns and their order are those of `src/order/fields.ts`. */

import { type ListedOrder, type OrderTerms, rejectReasonOf } from '../domain/order.ts';
import type { Count } from '../domain/units.ts';
import {
  CHANGING,
  FIXED,
  type FieldName,
  fieldOf,
  isNullable,
  type Kind,
  LISTED,
  type Progress,
} from '../order/fields.ts';
import { type Members, maker, membersOf, writer } from '../order/maker.ts';
import { NULL_FIELD, textField } from './copy.ts';
import { lineOf, quoted } from './lines.ts';
import { unitFields } from './market-units.ts';
import { numberArray, type Statement, type TextRow, textArray } from './round-trip.ts';
import { outlivesSegment } from './segments.ts';
import { storable } from './text.ts';
import { startOf } from './walk.ts';

export interface NewOrderRow {
  readonly terms: OrderTerms;
  readonly progress: Progress;
  /** The beginning of its row, by `placedText`. */
  readonly placed: string;
}

/** An order with its progress, of which a text is made. */
type OrderParts = Omit<NewOrderRow, 'placed'>;

interface KindOfColumn {
  /** Type of an array of values. */
  readonly sql: 'text' | 'bigint';
  /** Writes a value that is not null in COPY's text format. */
  readonly copy: (value: never) => string;
  /** Reads a field of a line. */
  readonly read: (text: string) => unknown;
}

const as = <Value>(sql: KindOfColumn['sql'], read: (text: string) => Value): KindOfColumn => ({
  sql,
  copy: String,
  read,
});

const KINDS: Readonly<Record<Kind, KindOfColumn>> = {
  word: as('text', String),
  text: { sql: 'text', copy: (text: string) => textField(storable(text)), read: JSON.parse },
  flag: { sql: 'text', copy: (flag: boolean) => (flag ? 't' : 'f'), read: (text) => text === 't' },
  number: as('bigint', Number),
  time: as('bigint', Number),
  // Lists show counts as Postgres wrote them.
  price: as('bigint', (text): Count => text),
  size: as('bigint', (text): Count => text),
};

const kindOf = (name: FieldName): KindOfColumn => KINDS[fieldOf(name).kind];
const columnOf = (name: FieldName): string => fieldOf(name).column!;

/** A rejected order has its reason in `reject_reason`, which never changes, and none in `reason`. */
const COMPUTED: Partial<Record<FieldName, (order: OrderParts) => unknown>> = {
  rejectReason: ({ progress }) => rejectReasonOf(progress),
  reason: ({ progress }) => reasonOf(progress),
};

/** Returns the column `reason`. */
const reasonOf = (progress: Progress): Progress['reason'] =>
  rejectReasonOf(progress) === null ? progress.reason : null;

/** Returns a function that writes fields with tabs between them. */
const fieldsText = (
  text: string,
  names: readonly FieldName[],
  of: 'terms' | 'progress',
  writeOf: (name: FieldName) => (value: never) => string,
): ((order: OrderParts) => string) =>
  writer<[order: OrderParts]>(
    text,
    names.map((name, at) => ({
      name,
      before: at === 0 ? '' : '\t',
      value: COMPUTED[name] ?? `${of}.${name}`,
      write: writeOf(name),
    })),
  );

/** Writes a field of a row. */
function copyOf(name: FieldName): (value: never) => string {
  const copy = name === 'units' ? unitFields : kindOf(name).copy;
  return (value: never) => (value === null ? NULL_FIELD : copy(value));
}

function bitsOf(double: number | null): string {
  if (double === null) return NULL_FIELD;
  const bits = Buffer.allocUnsafe(8);
  bits.writeDoubleBE(double);
  return bits.toString('hex');
}

/** Fixed fields of which the chain takes the text of the row; the others follow them. */
const COPIED = FIXED.filter((name) => fieldOf(name).inChain === undefined);
const OTHERS = FIXED.filter((name) => fieldOf(name).inChain !== undefined);

/** Returns the beginning of a row, which never changes. */
export const placedText = fieldsText('placedText', COPIED, 'terms', copyOf);
const restOfPlaced = fieldsText('restOfPlaced', OTHERS, 'terms', copyOf);
const restInChain = fieldsText('restInChain', OTHERS, 'terms', () => bitsOf);
/** Returns the end of a row, which changes until the order ends. */
export const progressText = fieldsText('progressText', CHANGING, 'progress', copyOf) as (
  order: Pick<OrderParts, 'progress'>,
) => string;

export const orderRow = (order: NewOrderRow): string =>
  `${order.placed}\t${restOfPlaced(order)}\t${progressText(order)}`;

/** Returns what the chain has of an order when it is placed. */
export const placedInChain = (order: NewOrderRow): string => `${order.placed}\t${restInChain(order)}`;

const columnsOf = (names: readonly FieldName[]): string => names.map(columnOf).join(', ');

/**
 * SQL of the tables of orders with a condition that holds for all rows of each, and that the indexes of lists have.
 */
export const LIVE_ORDERS = 'public.live_orders where closed_sequence is null';
/** The orders that ended of those that were placed in the segment `{0}`, among all late ones. */
export const ENDED_IN_SEGMENT = ['segments.ended_orders_{0}', 'public.late_orders'].map(
  (table) => `${table} where closed_sequence is not null`,
);

/**
 * Returns SQL that is true if the wallet $1 has orders in tables that were placed in a segment, as `Held` names it.
 * @param market parameter of the market; orders of every market count unless given
 */
export function areHeld(tables: readonly string[], market?: string): string {
  const [columns, values] =
    market === undefined
      ? [['wallet'], ['$1']]
      : [
          ['market', 'wallet'],
          [market, '$1'],
        ];
  const placed = startOf(columns, 'sequence', values, '{after}', '{before}');
  return `(${tables.map((orders) => `exists (select from ${orders} ${placed})`).join(' or ')})`;
}

/** SQL of one order by its id: `{0}` is the segment of the event that placed it. */
export const orderById = (id: string): string =>
  `(${['public.live_orders', 'segments.ended_orders_{0}', 'public.late_orders']
    .map((orders) => `(select * from ${orders} where id = ${id} offset 0)`)
    .join(' union all ')}) as found`;

/** Fields of a live order that change. */
const CHANGING_WHILE_LIVE = CHANGING.filter((name) => name !== 'closedSequence' && name !== 'reason');

/** SQL of changes, each with the id of its order, from an array of each column. */
const changesOf = (names: readonly FieldName[]): string => `
  unnest($1::text[], ${names.map((name, at) => `$${at + 2}::${kindOf(name).sql}[]`).join(', ')})
    as change (id, ${columnsOf(names)})`;

const CHANGE_ORDERS = `
  update public.live_orders
  set ${CHANGING_WHILE_LIVE.map((name) => `${columnOf(name)} = change.${columnOf(name)}`).join(', ')}
  from ${changesOf(CHANGING_WHILE_LIVE)}
  where live_orders.id = change.id`;

const FIXED_COLUMNS = columnsOf(FIXED);
const ALL_COLUMNS = `${FIXED_COLUMNS}, ${columnsOf(CHANGING)}`;

const END_ORDERS = `
  with ended as (
    delete from public.live_orders using ${changesOf(CHANGING)}
    where live_orders.id = change.id
    returning ${FIXED_COLUMNS.split(', ')
      .map((column) => `live_orders.${column}`)
      .join(', ')}, ${CHANGING.map((name) => `change.${columnOf(name)}`).join(', ')},
      ${outlivesSegment('live_orders.sequence', 'change.closed_sequence')} as is_late),
  late as (insert into public.late_orders (${ALL_COLUMNS}) select ${ALL_COLUMNS} from ended where is_late)
  insert into public.ended_orders (${ALL_COLUMNS}) select ${ALL_COLUMNS} from ended where not is_late`;

function arrayOf(name: (typeof CHANGING)[number], changes: readonly Progress[]): string {
  const values = changes.map((progress) => (name === 'reason' ? reasonOf(progress) : progress[name]));
  return kindOf(name).sql === 'text' ? textArray(values as string[]) : numberArray(values as number[]);
}

/** Returns the statements that change or end live orders of earlier batches, by their ids. */
export function changeOrders(changed: ReadonlyMap<string, Progress>): Statement[] {
  const all = [...changed];
  const statement = (
    name: string,
    text: string,
    columns: readonly (typeof CHANGING)[number][],
    changes: readonly (readonly [id: string, progress: Progress])[],
  ): Statement[] => {
    if (changes.length === 0) return [];
    const ids = changes.map(([id]) => id);
    const progress = changes.map(([, one]) => one);
    return [{ name, text, values: [textArray(ids), ...columns.map((column) => arrayOf(column, progress))] }];
  };
  return [
    ...statement(
      'change orders',
      CHANGE_ORDERS,
      CHANGING_WHILE_LIVE,
      all.filter(([, { closedSequence }]) => closedSequence === null),
    ),
    ...statement(
      'end orders',
      END_ORDERS,
      CHANGING,
      all.filter(([, { closedSequence }]) => closedSequence !== null),
    ),
  ];
}

const LOADED = ['id', 'sizeSteps', ...CHANGING] as const;
const LOAD_ORDERS = `select ${columnsOf(LOADED)} from public.live_orders where id = any($1::text[])`;

/** Returns the statement that loads the progress of live orders of earlier batches, which the events of a batch change. */
export const loadOrders = (ids: readonly string[]): Statement[] =>
  ids.length === 0 ? [] : [{ name: 'load orders', text: LOAD_ORDERS, values: [textArray(ids)] }];

function loadedMember(name: FieldName): (row: TextRow) => unknown {
  const at = (LOADED as readonly string[]).indexOf(name);
  const read = fieldOf(name).kind === 'size' ? BigInt : kindOf(name).read;
  return (row) => (row[at] === null ? null : read(row[at]!));
}

const loadedProgress = maker(
  'loadedProgress',
  membersOf(LOADED, loadedMember) as Members<[row: TextRow], Progress & { readonly id: string }>,
);

/** @param rows rows of `loadOrders` */
export const progressOf = (rows: readonly TextRow[]): Map<string, Progress> =>
  new Map(rows.map((row) => [row[0]!, loadedProgress(row)]));

/** SQL of a line of an order that a list shows. */
export const LISTED_LINE = lineOf(
  ...LISTED.map((name) => {
    if (name === 'reason') return `coalesce(reject_reason, reason, '')`;
    if (fieldOf(name).kind === 'text') return quoted(columnOf(name));
    return isNullable(name) ? `coalesce(${columnOf(name)}::text, '')` : columnOf(name);
  }),
);

/** Members of a listed order, from the fields of its line. */
export const LISTED_MEMBERS = membersOf(LISTED, (name) => {
  const at = LISTED.indexOf(name);
  const { read } = kindOf(name);
  if (!isNullable(name) || fieldOf(name).kind === 'text')
    return (fields: readonly string[]) => read(fields[at]!);
  return (fields: readonly string[]) => (fields[at] === '' ? null : read(fields[at]!));
}) as Members<[fields: readonly string[]], ListedOrder>;
