/** Settings of every session, so that no default of a server, a database or a user changes a statement or ends it. */

/**
 * Only `pg_catalog` is searched: a function or operator of another schema may fit the types of a call better than that of
 * Postgres, and would run in its place. Each statement names the schema of its tables.
 */
const OWN_PATH = 'pg_catalog, pg_temp';
/** A migration makes its tables in `public`. */
const MIGRATING_PATH = 'public, pg_temp';

/** Settings that change what a statement means, or the text of a value. */
const MEANING = {
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  escape_string_warning: 'on',
  transform_null_equals: 'off',
  array_nulls: 'on',
  quote_all_identifiers: 'off',
  client_encoding: 'UTF8',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  timezone_abbreviations: 'Default',
  lc_monetary: 'C',
  lc_numeric: 'C',
  lc_time: 'C',
  default_text_search_config: 'pg_catalog.simple',
  extra_float_digits: '1',
  bytea_output: 'hex',
  xmlbinary: 'base64',
  xmloption: 'content',
  // A policy that hides rows makes a statement fail.
  row_security: 'off',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  default_transaction_deferrable: 'off',
  default_table_access_method: 'heap',
  check_function_bodies: 'on',
  // A limit on the rows that an index returns.
  gin_fuzzy_search_limit: '0',
} as const;

/** Settings that end a session or a statement, or make its plan worse. The last three are of later versions of Postgres. */
const LIFE = {
  lock_timeout: '0',
  exit_on_error: 'off',
  jit: 'off',
  plan_cache_mode: 'auto',
  idle_session_timeout: '0',
  transaction_timeout: '0',
  restrict_nonsystem_relation_kind: '',
} as const;

interface SessionLimits {
  /** Longest run of one statement, 0 for no limit. */
  readonly patienceMs: number;
  /** Longest pause between two statements of a transaction, 0 for no limit. */
  readonly pauseMs: number;
  /** True for the session that makes tables. */
  readonly isMigrating?: boolean;
}

/**
 * Returns the statements that a session begins with. A commit waits for the disk, and for standby servers where Postgres
 * is told so. Triggers fire for a superuser too; other users cannot change that, and a reconcile names it.
 */
export function sessionSettings({ patienceMs, pauseMs, isMigrating = false }: SessionLimits): string {
  const wanted = { ...MEANING, ...LIFE, idle_in_transaction_session_timeout: `${pauseMs}` };
  const values = Object.entries(wanted).map(([name, value]) => `('${name}', '${value}')`);
  return `
    set statement_timeout = ${patienceMs};
    set search_path = ${OWN_PATH};
    select set_config(wanted.name, wanted.value, false)
    from (values ${values.join(', ')}) as wanted (name, value) join pg_settings on lower(pg_settings.name) = wanted.name;
    select set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), false);
    select set_config('session_replication_role', 'origin', false) from pg_roles
    where rolname = current_user and rolsuper and current_setting('session_replication_role') <> 'origin';
    ${isMigrating ? `set search_path = ${MIGRATING_PATH};` : ''}`;
}
