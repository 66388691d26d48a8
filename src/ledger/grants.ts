/**
 * Rights of the users of Postgres on the tables: `migrate` grants them, and a process checks those of its role. Each
 * table that a migration adds needs a row. k8s/components/postgres-users/users.sql makes the users.
 */

import { DatabaseRefused } from './database-refused.ts';
import type { Ask } from './queries.ts';

/** Users that do not own the tables. All of them may read. */
export const LEDGER_USERS = [
  'redbook_settlement',
  'redbook_api',
  'redbook_operator_api',
  'redbook_backup',
] as const;
type LedgerUser = (typeof LEDGER_USERS)[number];

interface Writes {
  readonly settlement: string;
  readonly api: string;
  /** Statements of `redbook_operator_api`, if they differ from those of `redbook_api`. */
  readonly operators?: string;
  readonly backup?: string;
}

/** Statements of each user beside SELECT. Nobody but the owner may truncate a table. */
export const WRITES: Readonly<Record<string, Writes>> = {
  adopted_balances: { settlement: 'insert', api: '' },
  adopted_fills: { settlement: 'insert', api: '' },
  adopted_prices: { settlement: 'insert', api: '' },
  adoptions: { settlement: 'insert', api: '' },
  assets: { settlement: 'insert update', api: '' },
  backups: { settlement: '', api: '', backup: 'insert update' },
  cap_reservations: { settlement: 'insert update delete', api: '', operators: 'insert update delete' },
  candles: { settlement: 'insert update', api: '' },
  chain_heads: { settlement: 'insert', api: '', operators: 'insert' },
  chain_links: { settlement: 'insert', api: '' },
  closing_balances: { settlement: 'insert', api: '', operators: 'insert' },
  closings: { settlement: 'insert', api: '', operators: 'insert' },
  ended_orders: { settlement: 'insert', api: '' },
  // Whichever process opens an engine notes its epoch.
  engine_copies: { settlement: 'insert update', api: 'update' },
  engine_cursor: { settlement: 'update', api: '' },
  engine_epochs: { settlement: 'insert', api: 'insert' },
  engine_lists: { settlement: 'insert delete', api: 'insert' },
  epoch_starts: { settlement: 'insert', api: '' },
  holds: { settlement: 'insert update delete', api: '' },
  kept_balances: { settlement: 'insert', api: '' },
  late_orders: { settlement: 'insert', api: '' },
  ledger_entries: { settlement: '', api: '' },
  live_orders: { settlement: 'insert update delete', api: '' },
  market_versions: { settlement: 'insert', api: '' },
  markets: { settlement: 'insert update', api: '' },
  movements: { settlement: 'insert', api: '' },
  operator_acts: { settlement: 'insert', api: '' },
  operator_key_days: { settlement: 'insert update', api: '', operators: 'insert update' },
  operator_keys: { settlement: 'insert update', api: '' },
  orders: { settlement: '', api: '' },
  reconciliations: { settlement: 'insert', api: '' },
  announced_deposits: { settlement: 'insert delete', api: '' },
  pending_withdrawals: { settlement: 'insert delete', api: '' },
  scrubs: { settlement: 'insert', api: '' },
  seals: { settlement: 'insert', api: '' },
  segments: { settlement: '', api: '' },
  setting_changes: { settlement: 'insert', api: '' },
  taken_withdrawals: { settlement: 'insert update delete', api: '' },
  trades: { settlement: 'insert', api: '' },
  trading_switches: { settlement: 'update', api: '' },
  waiting_movements: { settlement: 'insert update delete', api: '', operators: 'insert update delete' },
  wallet_terms: { settlement: 'insert update', api: '' },
  // Every process reads which migrations were applied.
  knex_migrations: { settlement: '', api: '' },
  knex_migrations_lock: { settlement: '', api: '' },
};

/** The users of roles that have one other than `redbook_settlement`. */
const USERS: Readonly<Record<string, LedgerUser>> = {
  api: 'redbook_api',
  snapshot: 'redbook_api',
  'operator-api': 'redbook_operator_api',
};

interface Granted {
  readonly user: LedgerUser;
  readonly relation: string;
  readonly rights: readonly string[];
}

const rightsOf = (writes: string): string[] => ['select', ...writes.split(' ').filter(Boolean)];

/** The rights of each user on each table. */
export const GRANTED: readonly Granted[] = Object.entries(WRITES).flatMap(
  ([relation, { settlement, api, operators = api, backup = '' }]) => [
    { user: 'redbook_settlement', relation, rights: rightsOf(settlement) },
    { user: 'redbook_api', relation, rights: rightsOf(api) },
    { user: 'redbook_operator_api', relation, rights: rightsOf(operators) },
    { user: 'redbook_backup', relation, rights: rightsOf(backup) },
  ],
);

/** Makes what is missing ahead of settlement, with the rights of the owner. */
const ADD_SEGMENTS = 'public.add_segments(bigint)';
export const SETTLEMENT = 'redbook_settlement';

/**
 * Each right of a user that differs from $1, as the statement that mends it. Needs the owner of the table. Rows are
 * written to segments through their parents, so users may only read a segment itself.
 */
const MEND = `
  select format('%s %s on %s %s %I', case when is_granted then 'grant' else 'revoke' end, one, pg_class.oid::regclass,
    case when is_granted then 'to' else 'from' end, rolname) as statement
  from jsonb_to_recordset($1::jsonb) as granted ("user" text, relation text, rights text[])
  join pg_roles on rolname = "user"
  cross join lateral (select to_regclass(format('public.%I', relation))) as named (parent)
  join pg_class on (pg_class.oid = parent or pg_class.oid in (select inhrelid from pg_inherits where inhparent = parent))
    and pg_has_role(relowner, 'usage')
  cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as one
  cross join lateral (select one = any (rights) and (one = 'select' or not relispartition) as is_granted) as wanted
  where has_table_privilege(pg_roles.oid, pg_class.oid, one) <> is_granted
  union all
  select format('grant usage on schema segments to %I', rolname)
  from pg_namespace join pg_roles on rolname in (select "user" from jsonb_to_recordset($1::jsonb) as granted ("user" text))
  where nspname = 'segments' and pg_has_role(nspowner, 'usage')
    and not has_schema_privilege(pg_roles.oid, pg_namespace.oid, 'usage')
  union all
  select format('grant execute on function ${ADD_SEGMENTS} to %I', rolname)
  from pg_proc join pg_roles on rolname = '${SETTLEMENT}'
  where pg_proc.oid = to_regprocedure('${ADD_SEGMENTS}') and pg_has_role(proowner, 'usage')
    and not has_function_privilege(pg_roles.oid, pg_proc.oid, 'execute')
  union all
  -- The tables of knex have sequences, which a dump reads.
  select format('grant select on sequence %s to %I', pg_class.oid::regclass, rolname)
  from pg_class join pg_roles on rolname = 'redbook_backup'
  where relkind = 'S' and relnamespace = 'public'::regnamespace and pg_has_role(relowner, 'usage')
    and not has_sequence_privilege(pg_roles.oid, pg_class.oid, 'select')`;

/** Grants each user that exists exactly its rights, on the tables that the current user owns. */
export async function grantRights(ask: Ask): Promise<void> {
  for (const { statement } of await ask<{ statement: string }>(MEND, [JSON.stringify(GRANTED)]))
    await ask(statement);
}

/** Rights of $1 that the connection lacks, and the function that a user of the name $2 calls. */
const MISSING = `
  select current_user as "user", array_agg(missing) as missing
  from (
    select format('%s %s', one, relation) as missing
    from jsonb_to_recordset($1::jsonb) as granted (relation text, rights text[]) cross join unnest(rights) as one
    where not has_table_privilege(to_regclass(format('public.%I', relation)), one)
    union all
    select 'execute add_segments'
    where $2 = '${SETTLEMENT}' and not has_function_privilege(to_regprocedure('${ADD_SEGMENTS}'), 'execute')
  ) as lacking`;

const MAX_NAMED = 3;

/** @throws DatabaseRefused unless the connection may do what the role does on the tables that are there */
export async function checkRights(ask: Ask, role: string): Promise<void> {
  const user = USERS[role] ?? SETTLEMENT;
  const needed = GRANTED.filter((one) => one.user === user);
  const [found] = await ask<{ user: string; missing: string[] | null }>(MISSING, [
    JSON.stringify(needed),
    user,
  ]);
  const missing = found?.missing ?? [];
  if (missing.length === 0) return;
  const more = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : '';
  throw new DatabaseRefused(
    `it refuses its user ${found!.user} ${missing.slice(0, MAX_NAMED).join(', ')}${more}: run \`redbook migrate\` as the owner of the tables`,
  );
}
