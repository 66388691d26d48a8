/**
 * The columns of tables whose rows the chain of events proves, in the order in which they are written. `COPY` takes a
 * row as its fields with tabs between them; a reconcile makes the same text of the row that Postgres has.
 */

import { CHANGING, FIXED, type FieldName, fieldOf } from '../order/fields.ts';
import { escapedInSql, NULL_FIELD } from './copy.ts';

/**
 * The text of a value. `plain` needs no escapes. `text` may hold any character. `bits` are those of a double, because
 * JavaScript and Postgres write the largest numbers differently.
 */
type ColumnKind = 'plain' | 'text' | 'flag' | 'bits';

export type Columns = Readonly<Record<string, ColumnKind>>;

const SQL: Readonly<Record<ColumnKind, (column: string) => string>> = {
  plain: (column) => `${column}::text`,
  text: escapedInSql,
  flag: (column) => `case when ${column} then 't' else 'f' end`,
  bits: (column) => `encode(float8send(${column}), 'hex')`,
};

export const namesOf = (columns: Columns): string => Object.keys(columns).join(', ');

/** SQL of the text of a row. No function of the database is used: an insider may have replaced it. */
export const rowTextOf = (columns: Columns): string =>
  `concat_ws(E'\\t', ${Object.entries(columns)
    .map(([column, kind]) => `coalesce(${SQL[kind](column)}, '${NULL_FIELD}')`)
    .join(', ')})`;

function columnsOfFields(names: readonly FieldName[]): Columns {
  const kindOf = (name: FieldName): ColumnKind => {
    const { kind, inChain } = fieldOf(name);
    if (inChain !== undefined) return inChain;
    if (name === 'units' || (kind !== 'text' && kind !== 'flag')) return 'plain';
    return kind;
  };
  return Object.fromEntries(
    names.flatMap((name) =>
      fieldOf(name)
        .column!.split(', ')
        .map((column) => [column, kindOf(name)]),
    ),
  );
}

/** Columns of an order that never change. */
export const FIXED_OF_ORDERS = columnsOfFields(FIXED);
/** Columns of an order that change until it ends. */
export const CHANGING_OF_ORDERS = columnsOfFields(CHANGING);
export const ORDERS: Columns = { ...FIXED_OF_ORDERS, ...CHANGING_OF_ORDERS };

export const TRADES = {
  trade_id: 'plain',
  sequence: 'plain',
  market: 'plain',
  taker_side: 'plain',
  price_ticks: 'plain',
  size_steps: 'plain',
  base_atoms: 'plain',
  notional_atoms: 'plain',
  fee_atoms: 'plain',
  taker_order_id: 'plain',
  maker_order_id: 'plain',
  taker_wallet: 'plain',
  maker_wallet: 'plain',
  time_ms: 'plain',
  base: 'plain',
  quote: 'plain',
  base_atoms_per_step: 'plain',
  quote_atoms_per_lot: 'plain',
} as const satisfies Columns;

export const MOVEMENTS = {
  sequence: 'plain',
  kind: 'plain',
  wallet: 'plain',
  asset: 'plain',
  amount_atoms: 'plain',
  reference: 'text',
  time_ms: 'plain',
  reverses: 'text',
  txid: 'text',
  owed_atoms: 'plain',
} as const satisfies Columns;

/** The record comes last: Postgres writes it differently, so a reconcile reads it and writes it anew. */
export const MARKET_VERSIONS = {
  market: 'plain',
  sequence: 'plain',
  fee_bps: 'plain',
  time_ms: 'plain',
  record: 'plain',
} as const satisfies Columns;

export const SETTING_CHANGES = {
  sequence: 'plain',
  kind: 'plain',
  subject: 'text',
  value: 'text',
  time_ms: 'plain',
} as const satisfies Columns;

export const OPERATOR_ACTS = {
  sequence: 'plain',
  name: 'plain',
  operator: 'text',
  reason: 'text',
  wallet: 'text',
  market: 'text',
  asset: 'text',
  subject: 'text',
  before: 'text',
  after: 'text',
  time_ms: 'plain',
} as const satisfies Columns;

export const ADOPTIONS = {
  sequence: 'plain',
  after_sequence: 'plain',
  last_trade_id: 'plain',
  time_ms: 'plain',
} as const satisfies Columns;

export const ADOPTED_BALANCES = {
  account: 'plain',
  sequence: 'plain',
  asset: 'plain',
  line: 'plain',
  amount_atoms: 'plain',
  time_ms: 'plain',
} as const satisfies Columns;

export const ADOPTED_FILLS = {
  order_id: 'plain',
  sequence: 'plain',
  steps: 'plain',
  time_ms: 'plain',
} as const satisfies Columns;

export const ADOPTED_PRICES = {
  market: 'plain',
  sequence: 'plain',
  price_ticks: 'plain',
  time_ms: 'plain',
} as const satisfies Columns;
