/**
 * Reads and writes the rows of orders, each with a witness: a digest by which a reconcile finds a changed row. The
 * columns and their order are those of `src/order/fields.ts`.
 */

import { hash } from 'node:crypto';
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
import { type Members, maker, membersOf, type Part, writer } from '../order/maker.ts';
import { NULL_FIELD, textField } from './copy.ts';
import { lineOf, quoted } from './lines.ts';
import { unitFields } from './market-units.ts';
import { numberArray, type Statement, type TextRow, textArray } from './round-trip.ts';
import { storable } from './text.ts';

export interface NewOrderRow {
  readonly terms: OrderTerms;
  readonly progress: Progress;
  /** The digest of what never changes, once `orderRow` has written the row: the first half of the witness. */
  digest: string;
}

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
const COMPUTED: Partial<Record<FieldName, (order: NewOrderRow) => unknown>> = {
  rejectReason: ({ progress }) => rejectReasonOf(progress),
  reason: ({ progress }) => reasonOf(progress),
};

/** Returns the column `reason`. */
export const reasonOf = (progress: Progress): Progress['reason'] =>
  rejectReasonOf(progress) === null ? progress.reason : null;

/** @param names fields of which the text follows the same rule */
const partsOf = (
  names: readonly FieldName[],
  of: 'terms' | 'progress',
  before: string,
  writeOf: (name: FieldName) => (value: never) => string,
): Part<[order: NewOrderRow]>[] =>
  names.map((name) => ({ before, value: COMPUTED[name] ?? `${of}.${name}`, write: writeOf(name) }));

/** Writes a field of a row. */
function copyOf(name: FieldName): (value: never) => string {
  const copy = name === 'units' ? unitFields : kindOf(name).copy;
  return (value: never) => (value === null ? NULL_FIELD : copy(value));
}

/** Writes a field for a digest or a witness, after a separator. */
function witnessOf(name: FieldName, separator: string, none: string): (value: never) => string {
  const { digest, kind } = fieldOf(name);
  const write = digest === 'bits' ? bitsOf : kind === 'text' ? storable : String;
  const ofNull = digest === 'unless null' ? '' : `${separator}${none}`;
  return (value: never) => (value === null ? ofNull : `${separator}${write(value)}`);
}

function bitsOf(double: number): string {
  const bits = Buffer.allocUnsafe(8);
  bits.writeDoubleBE(double);
  return bits.toString('hex');
}

/** Fields of which the digest takes the text of the row; the others follow them. */
const COPIED = FIXED.filter((name) => fieldOf(name).digest === undefined);
const OTHERS = FIXED.filter((name) => fieldOf(name).digest !== undefined);

/** The columns of `orderRow`. */
export const ORDER_COLUMNS = [...[...COPIED, ...OTHERS, ...CHANGING].map(columnOf), 'witness'].join(', ');

/** Characters of the base64 of a SHA-256 that a witness keeps: 132 bits. */
const DIGEST_CHARACTERS = 22;

const copiedText = writer([
  ...partsOf(COPIED.slice(0, 1), 'terms', '', copyOf),
  ...partsOf(COPIED.slice(1), 'terms', '\t', copyOf),
]);
const restText = writer([
  ...partsOf(OTHERS, 'terms', '\t', copyOf),
  ...partsOf(CHANGING, 'progress', '\t', copyOf),
]);
const digestText = writer(partsOf(OTHERS, 'terms', '', (name) => witnessOf(name, '\t', NULL_FIELD)));

/** Writes the second half of a witness, a second copy of the columns that change. */
const changingText = writer(partsOf(CHANGING, 'progress', '', (name) => witnessOf(name, '/', '-'))) as (
  order: Pick<NewOrderRow, 'progress'>,
) => string;

/** Returns the digest of all that never changes of an order. */
export const digestOfOrder = (content: string): string =>
  hash('sha256', content, 'base64').slice(0, DIGEST_CHARACTERS);

/** Returns the row of an order. `order_witness` in the database makes the same witness of it. */
export function orderRow(order: NewOrderRow): string {
  const copied = copiedText(order);
  order.digest = digestOfOrder(`${copied}${digestText(order)}`);
  return `${copied}${restText(order)}\t${order.digest}${changingText(order)}`;
}

const columnsOf = (names: readonly FieldName[]): string => names.map(columnOf).join(', ');

/** Changes orders. A wrong witness stays wrong, because a change does not prove that the rest of the row was right. */
const CHANGE_ORDERS = `
  update public.orders
  set ${CHANGING.map((name) => `${columnOf(name)} = change.${columnOf(name)}`).join(', ')},
      witness = substring(orders.witness for ${DIGEST_CHARACTERS}) || change.witness
  from unnest($1::text[], $2::bytea[], ${CHANGING.map((name, at) => `$${at + 3}::${kindOf(name).sql}[]`).join(', ')})
    as change (id, witness, ${columnsOf(CHANGING)})
  where orders.id = change.id`;

/** Returns the statement that changes orders of earlier batches, by their ids; none if there are none. */
export function changeOrders(changed: ReadonlyMap<string, Progress>): Statement[] {
  if (changed.size === 0) return [];
  const changes = [...changed.values()];
  const arrayOf = (name: (typeof CHANGING)[number]): string => {
    const values = changes.map((progress) => (name === 'reason' ? reasonOf(progress) : progress[name]));
    return kindOf(name).sql === 'text' ? textArray(values as string[]) : numberArray(values as number[]);
  };
  const witnesses = changes.map((progress) => changingText({ progress }));
  return [
    {
      name: 'change orders',
      text: CHANGE_ORDERS,
      values: [textArray([...changed.keys()]), textArray(witnesses), ...CHANGING.map(arrayOf)],
    },
  ];
}

const LOADED = ['id', 'sizeSteps', ...CHANGING] as const;
const LOAD_ORDERS = `select ${columnsOf(LOADED)} from public.orders where id = any($1::text[])`;

/** Returns the statement that loads the progress of orders of earlier batches, which the events of a batch change. */
export const loadOrders = (ids: readonly string[]): Statement[] =>
  ids.length === 0 ? [] : [{ name: 'load orders', text: LOAD_ORDERS, values: [textArray(ids)] }];

function loadedMember(name: FieldName): (row: TextRow) => unknown {
  const at = (LOADED as readonly string[]).indexOf(name);
  const read = fieldOf(name).kind === 'size' ? BigInt : kindOf(name).read;
  return (row) => (row[at] === null ? null : read(row[at]!));
}

const loadedProgress = maker(
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
