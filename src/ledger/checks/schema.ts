/** Checks of the triggers, keys and constraints that the books rely on. */

import type { LedgerQuery } from './query.ts';

/** Triggers of each table. */
const TRIGGERS: Readonly<Record<string, readonly string[]>> = {
  trades: ['append_only'],
  movements: ['append_only'],
  ledger_entries: ['append_only'],
  holds: ['stamp'],
  wallet_terms: ['stamp'],
  reconciliations: ['stamp'],
  closings: ['append_only'],
  closing_balances: ['append_only'],
};

/** Unique indexes by table, with their columns. */
const UNIQUE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  engine_cursor: { engine_cursor_pkey: 'only_row' },
  engine_epochs: { engine_epochs_pkey: 'epoch' },
  trading_switches: { trading_switches_pkey: 'only_row' },
  assets: { assets_pkey: 'symbol' },
  markets: { markets_pkey: 'symbol', markets_number_key: 'number' },
  wallet_terms: { wallet_terms_pkey: 'wallet' },
  holds: { holds_pkey: 'wallet' },
  orders: { orders_pkey: 'id', orders_client_order_id: 'wallet, client_order_id' },
  trades: { trades_pkey: 'trade_id' },
  movements: { movements_pkey: 'sequence', movements_kind_reference_key: 'kind, reference' },
  ledger_entries: { ledger_entries_pkey: 'sequence, line' },
  candles: { candles_pkey: 'market, timeframe, open_ms' },
  reconciliations: { reconciliations_pkey: 'id' },
  closings: { closings_pkey: 'month', closings_end_ms_key: 'end_ms' },
  closing_balances: { closing_balances_pkey: 'month, account, asset' },
  daily_balances: { daily_balances_pkey: 'end_ms, account, asset' },
};

/** Columns that a check constraint guards, by table. */
const GUARDED: Readonly<Record<string, readonly string[]>> = {
  engine_cursor: ['only_row'],
  trading_switches: ['only_row'],
  orders: ['side', 'type', 'filled_steps', 'closed_sequence'],
  trades: ['taker_side'],
  movements: ['kind'],
  ledger_entries: ['kind', 'amount_atoms'],
  closings: ['month'],
};

/** @returns rows of SQL values: (table, name[, detail]) */
const rowsOf = (lists: Readonly<Record<string, readonly (readonly string[])[]>>): string =>
  Object.entries(lists)
    .flatMap(([table, rows]) =>
      rows.map((row) => `(${[table, ...row].map((text) => `'${text}'`).join(', ')})`),
    )
    .join(', ');

const eachAlone = (names: readonly string[]): string[][] => names.map((name) => [name]);
const mapped = <From, To>(
  record: Readonly<Record<string, From>>,
  of: (value: From) => To,
): Record<string, To> => Object.fromEntries(Object.entries(record).map(([key, value]) => [key, of(value)]));

export const SCHEMA_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'guards are in place',
    meaning: 'triggers, unique indexes and constraints that the books lean on exist and are enabled',
    sql: `
      select concat_ws(' ', 'trigger', name, 'on', due.relation) as subject, 'enabled' as expected,
        case when tgname is null then 'missing' else concat('tgenabled = ', tgenabled) end as found
      from (values ${rowsOf(mapped(TRIGGERS, eachAlone))}) as due (relation, name)
      left join pg_trigger on tgrelid = to_regclass(due.relation) and tgname = due.name and not tgisinternal
      where tgenabled is distinct from 'O'
      union all
      select concat_ws(' ', 'index', name, 'on', due.relation), concat('unique and valid on (', due.columns, ')'),
        case when indexrelid is null then 'missing'
          else concat_ws(' ', case when indisunique then 'unique' else 'not unique' end,
            case when indisvalid and indisready and indislive then 'valid' else 'invalid' end, 'on',
            '(' || found.columns || ')') end
      from (values ${rowsOf(mapped(UNIQUE, Object.entries))}) as due (relation, name, columns)
      left join lateral (
        select indexrelid, indisunique, indisvalid, indisready, indislive,
          (select string_agg(pg_get_indexdef(indexrelid, place, true), ', ' order by place)
           from generate_series(1, indnkeyatts) as place) as columns
        from pg_index join pg_class on pg_class.oid = indexrelid
        where indrelid = to_regclass(due.relation) and relname = due.name) as found on true
      where (found.indisunique and found.indisvalid and found.indisready and found.indislive
        and found.columns = due.columns) is not true
      union all
      select concat_ws(' ', 'constraint on', due.relation, due.name), 'validated', 'missing'
      from (values ${rowsOf(mapped(GUARDED, eachAlone))}) as due (relation, name)
      where not exists (
        select from pg_constraint
        join pg_attribute on attrelid = conrelid and attnum = any (conkey)
        where conrelid = to_regclass(due.relation) and contype = 'c' and convalidated and attname = due.name)`,
  },
];
