/**
 * Changes each object of the ledger's schema in each way that Postgres offers, and adds one of each kind. `ledger
 * reconcile` must name each. Objects are listed by the catalogs, so new ones are covered automatically. Objects that are
 * changed in the same way are changed together, because each has a difference of its own.
 */

import { expect } from 'chai';
import pg from 'pg';
import { grantRights } from '../../../src/ledger/grants.ts';
import { sessionSettings } from '../../../src/ledger/session-settings.ts';
import { CorruptedBooks } from '../../books/corrupted-books.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startLedgerServer } from '../../support/servers.ts';

/** One change of one object. */
interface Change {
  readonly does: string;
  readonly undoes: string;
  /** Part of the reported difference. */
  readonly named: string;
}

/** A kind of change, as SQL that lists the changes of all objects. */
type Way = string;

/** Changes that are made together: a check reports at most 100 differences, and one of a divided table causes three. */
const TOGETHER = 30;
/** A view whose owner may not read its tables would end the checks, so all have the new owner at once. */
const AT_ONCE = ['another owner of a table'];

/** Tables, views and segments, by names that Postgres reads. */
const RELATIONS = `(select oid, relkind, relowner, relacl, oid::regclass::text as relname from pg_class
  where relnamespace in ('public'::regnamespace, 'segments'::regnamespace) and relkind in ('r', 'p', 'v'))
  as relations where true`;
const TABLES = `${RELATIONS} and relkind <> 'v'`;
const VIEWS = `${RELATIONS} and relkind = 'v'`;
const COLUMNS = `(select relname, attname, attnum, attnotnull, attgenerated, attidentity, atthasdef,
    format_type(atttypid, atttypmod) as type, attcollation::regcollation::text as collated, attrelid,
    pg_get_expr(adbin, adrelid) as value
  from (select * from ${TABLES}) as tables join pg_attribute on attrelid = tables.oid
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
  where attnum > 0 and not attisdropped) as columns`;
const PLAIN = `attgenerated = '' and attidentity = ''`;
const FUNCTIONS = `(select pg_proc.oid, proname, oid::regprocedure::text as signature, pg_get_functiondef(oid) as text,
    prosrc, prosecdef, proname || '(' as named
  from pg_proc where pronamespace = 'public'::regnamespace) as functions`;
const CONSTRAINTS = `(select relname, conname, contype, pg_get_constraintdef(pg_constraint.oid) as text
  from pg_constraint join (select * from ${TABLES}) as tables on tables.oid = conrelid
  where contype in ('c', 'u', 'p')) as constraints`;
const TRIGGERS = `(select relname, tgname, pg_get_triggerdef(pg_trigger.oid) as text
  from pg_trigger join (select * from ${TABLES}) as tables on tables.oid = tgrelid where not tgisinternal) as triggers`;
const INDEXES = `(select tables.relname, indexrelid::regclass::text as name, own.relname as plain, indexrelid::bigint, pg_get_indexdef(indexrelid) as text,
    exists (select from pg_constraint where conindid = indexrelid) as is_constraint
  from pg_index join (select * from ${TABLES}) as tables on tables.oid = indrelid
  join pg_class as own on own.oid = indexrelid where indisunique) as indexes`;
const KEYED = `exists (select from pg_index where indrelid = attrelid and indisprimary and attnum = any (indkey))`;

/** SQL of a row of changes: three expressions that format texts. */
const row = (does: string, undoes: string, named: string, from: string): Way =>
  `select ${does} as does, ${undoes} as undoes, ${named} as named from ${from}`;

const ofTable = (does: string, undoes: string, named = 'table %s:'): Way =>
  row(
    `format('alter table %s ${does}', relname)`,
    `format('alter table %s ${undoes}', relname)`,
    `format('${named}', relname)`,
    TABLES,
  );
const ofFunction = (does: string, where = 'true'): Way =>
  row(
    `format('alter function %s ${does}', signature)`,
    'text',
    `'function ' || named`,
    `${FUNCTIONS} where ${where}`,
  );

const VALUES = `case when type ~ '\\[\\]$' then '''{mine}'''
  when type = 'boolean' then case value when 'false' then 'true' else 'false' end when type = 'jsonb' then '''{}'''
  when type in ('text', 'bytea') then '''mine''' when type ~ '^(timestamp|date)' then '''2020-02-02''' else '7' end`;
const OTHER_TYPE = `case type when 'bigint' then 'numeric' when 'integer' then 'bigint' when 'smallint' then 'bigint'
  when 'numeric' then 'numeric(60,0)' when 'text' then 'varchar' when 'double precision' then 'numeric'
  when 'date' then 'timestamp' when 'jsonb' then 'json' when 'text[]' then 'varchar[]' when 'bytea' then 'text'
  else 'timestamp(6) with time zone' end`;
const ofColumn = (does: string, undoes: string, where: string): Way =>
  row(
    `format('alter table %s alter column %I ', relname, attname) || ${does}`,
    `format('alter table %s alter column %I ', relname, attname) || ${undoes}`,
    `format('column %s on %s', attname, relname)`,
    `${COLUMNS} where ${where}`,
  );

const OBJECTS: Readonly<Record<string, Way>> = {
  'a table that a crash empties': ofTable('set unlogged', 'set logged'),
  'row security of a table': ofTable('enable row level security', 'disable row level security'),
  'row security that binds the owner': ofTable('force row level security', 'no force row level security'),
  'another owner of a table': row(
    `format('alter table %s owner to pg_read_all_data', relname)`,
    `format('alter table %s owner to %I', relname, pg_get_userbyid(relowner))`,
    `format('owner of table %s:', relname)`,
    `${RELATIONS} and relname <> 'knex_migrations'`,
  ),
  'a policy': row(
    `format('create policy "a on b" on %s using (false)', relname)`,
    `format('drop policy "a on b" on %s', relname)`,
    `format('policy a on b on %s:', relname)`,
    TABLES,
  ),
  'a rule': row(
    `format('create rule "a on b" as on insert to %s do also select 1', relname)`,
    `format('drop rule "a on b" on %s', relname)`,
    `format('rule a on b on %s:', relname)`,
    `${RELATIONS} and relname <> 'reconciliations'`,
  ),
  'a trigger': row(
    `format('create trigger "a on b" before truncate on %s execute function public.refuse_change()', relname)`,
    `format('drop trigger "a on b" on %s', relname)`,
    `format('trigger a on b on %s:', relname)`,
    TABLES,
  ),
  'a trigger of a view': row(
    `format('create trigger mine instead of insert on %s for each row execute function public.refuse_change()', relname)`,
    `format('drop trigger mine on %s', relname)`,
    `format('trigger mine on %s:', relname)`,
    VIEWS,
  ),
  'a table that others inherit from': row(
    `format('create table mine.%I () inherits (%1$s)', relname)`,
    `format('drop table mine.%I', relname)`,
    `format('table %s: expected r p, found r p inherits', relname)`,
    TABLES,
  ),
  'a further column': ofTable('add column mine integer', 'drop column mine', 'column mine on %s:'),
  'a column that may be null': ofColumn(`'drop not null'`, `'set not null'`, `attnotnull and not ${KEYED}`),
  'a column that may not be null': `with filled as (select *,
      (xpath('//n/text()', query_to_xml(format('select count(*) as n from %s where %I is null', relname, attname),
        false, true, '')))[1]::text as nulls from ${COLUMNS} where not attnotnull and relname !~ '^segments')
    select format('alter table %s alter column %I set not null', relname, attname) as does,
      format('alter table %s alter column %I drop not null', relname, attname) as undoes,
      format('column %s on %s', attname, relname) as named
    from filled where nulls = '0'`,
  'a column with another default': ofColumn(
    `'set default ' || ${VALUES}`,
    `coalesce('set default ' || value, 'drop default')`,
    PLAIN,
  ),
  'a column without its default': ofColumn(
    `'drop default'`,
    `'set default ' || value`,
    `atthasdef and ${PLAIN}`,
  ),
  'a column of another type': ofColumn(
    `format('type %s using %I::%1$s', ${OTHER_TYPE}, attname)`,
    `format('type %s%s using %I::%1$s', type, ' collate ' || nullif(collated, '-'), attname)`,
    `${PLAIN} and not exists (select from pg_constraint
      where conrelid = attrelid and contype = 'c' and attnum = any (conkey))`,
  ),
  'a column of another collation': ofColumn(
    `format('type %s collate %s', type, case collated when '"C"' then '"POSIX"' else '"C"' end)`,
    `format('type %s collate %s', type, collated)`,
    `${PLAIN} and collated <> '-'`,
  ),
  'a constraint that is gone': row(
    `format('alter table %s drop constraint %I', relname, conname)`,
    `format('alter table %s add constraint %I %s', relname, conname, text)`,
    `format('constraint %s on %s:', conname, relname)`,
    CONSTRAINTS,
  ),
  'a condition that always holds': row(
    `format('alter table %s drop constraint %I, add constraint %2$I check (true or %s)', relname, conname,
      substr(text, 7))`,
    `format('alter table %s drop constraint %I, add constraint %2$I %s', relname, conname, text)`,
    `format('constraint %s on %s:', conname, relname)`,
    `${CONSTRAINTS} where contype = 'c'`,
  ),
  'a condition that was not held against the rows': row(
    `format('alter table %s drop constraint %I, add constraint %2$I %s not valid', relname, conname, text)`,
    `format('alter table %s validate constraint %I', relname, conname)`,
    `format('constraint %s on %s:', conname, relname)`,
    `${CONSTRAINTS} where contype = 'c'`,
  ),
  'a key that holds at the end of a transaction': row(
    `format('alter table %s drop constraint %I, add constraint %2$I %s deferrable', relname, conname, text)`,
    `format('alter table %s drop constraint %I, add constraint %2$I %s', relname, conname, text)`,
    `format('constraint %s on %s:', conname, relname)`,
    `${CONSTRAINTS} where contype <> 'c'`,
  ),
  'a unique index that is gone': row(
    `format('drop index %s', name)`,
    'text',
    `format('index %s on %s:', plain, relname)`,
    `${INDEXES} where not is_constraint`,
  ),
  'a unique index that is not valid': row(
    `format('update pg_catalog.pg_index set indisvalid = false where indexrelid = %s', indexrelid)`,
    `format('update pg_catalog.pg_index set indisvalid = true where indexrelid = %s', indexrelid)`,
    `format('index %s on %s:', plain, relname)`,
    INDEXES,
  ),
  'an index over an expression': row(
    `format('create index %I on %s ((%I is null))', 'mine ' || relname, relname, attname)`,
    `format('drop index public.%I', 'mine ' || relname)`,
    `format('index mine %s on %1$s:', relname)`,
    `${COLUMNS} where attnum = 1 and relname !~ '^segments'`,
  ),
  'a sequence that begins again': row(
    `format('alter sequence public.%I cycle', relname)`,
    `format('alter sequence public.%I no cycle', relname)`,
    `format('table %s: expected S', relname)`,
    `pg_class where relnamespace = 'public'::regnamespace and relkind = 'S'`,
  ),
  'a table with another access method': ofTable('set access method mine', 'set access method heap'),
  'an index by which a value finds the rows of another one': row(
    `format('create index %I on public.%I (%I mine.mine)', 'mine ' || relname, relname, attname)`,
    `format('drop index public.%I', 'mine ' || relname)`,
    `format('index mine %s on %1$s: expected operator classes of Postgres', relname)`,
    `(select distinct on (relname) * from ${COLUMNS} where type = 'bigint' and relname !~ '[.]' order by relname, attnum) as firsts`,
  ),
  'a trigger that is off': row(
    `format('alter table %s disable trigger %I', relname, tgname)`,
    `format('alter table %s enable trigger %I', relname, tgname)`,
    `format('trigger %s on %s:', tgname, relname)`,
    TRIGGERS,
  ),
  'a trigger that only a replica fires': row(
    `format('alter table %s enable replica trigger %I', relname, tgname)`,
    `format('alter table %s enable trigger %I', relname, tgname)`,
    `format('trigger %s on %s:', tgname, relname)`,
    TRIGGERS,
  ),
  'a trigger that is gone': row(
    `format('drop trigger %I on %s', tgname, relname)`,
    'text',
    `format('trigger %s on %s:', tgname, relname)`,
    TRIGGERS,
  ),
  'a trigger with a condition': row(
    `format('drop trigger %I on %s; ', tgname, relname)
      || regexp_replace(text, ' (WHEN .*)?EXECUTE', ' WHEN (false) EXECUTE')`,
    `format('drop trigger %I on %s; ', tgname, relname) || text`,
    `format('trigger %s on %s:', tgname, relname)`,
    TRIGGERS,
  ),
  'a view that leaves out rows': row(
    `format('create or replace view %s as select * from (%s) as mine where random() < 2', relname,
      rtrim(pg_get_viewdef(oid), ';'))`,
    `format('create or replace view %s as %s', relname, pg_get_viewdef(oid))`,
    `format('view %s:', relname)`,
    VIEWS,
  ),
  'a view with an option': row(
    `format('alter view %s set (security_barrier)', relname)`,
    `format('alter view %s reset (security_barrier)', relname)`,
    `format('view %s:', relname)`,
    VIEWS,
  ),
  'another text of a function': row(
    `replace(text, prosrc, prosrc || ' ')`,
    'text',
    `'function ' || named`,
    FUNCTIONS,
  ),
  'a function with the rights of its owner': ofFunction('security definer', 'not prosecdef'),
  'a function without the rights of its owner': ofFunction('security invoker', 'prosecdef'),
  'a function with another setting': ofFunction('set search_path to public'),
  'another owner of a function': row(
    `format('alter function %s owner to pg_read_all_data', signature)`,
    `format('alter function %s owner to %I', signature, (select pg_get_userbyid(proowner) from pg_proc
      where pg_proc.oid = functions.oid))`,
    `'owner of function ' || proname`,
    FUNCTIONS,
  ),
  'a further function of the same name': row(
    `format('create function public.%I(line) returns text language sql as $f$ select null $f$', proname)`,
    `format('drop function public.%I(line)', proname)`,
    `format('function %s(line)', proname)`,
    FUNCTIONS,
  ),
};

/** Rights that nobody has in the release. */
const RIGHTS: Readonly<Record<string, Way>> = Object.fromEntries([
  ...['insert', 'update', 'delete', 'truncate', 'references', 'trigger'].flatMap((right) =>
    ['public', 'redbook_settlement', 'redbook_api', 'redbook_operator_api', 'redbook_backup'].map((user) => [
      `${right} for ${user}`,
      row(
        `format('grant ${right} on %s to ${user}', relname)`,
        `format('revoke ${right} on %s from ${user}', relname)`,
        `format('rights on %s: expected no ${right.toUpperCase()}', relname)`,
        `${RELATIONS} and not has_table_privilege('${user}', oid, '${right}')`,
      ),
    ]),
  ),
  ...['insert', 'update', 'references'].map((right) => [
    `${right} of a column for redbook_api`,
    row(
      `format('grant ${right} (%I) on %s to redbook_api', attname, relname)`,
      `format('revoke ${right} (%I) on %s from redbook_api', attname, relname)`,
      `format('rights on %s.%s:', relname, attname)`,
      `${COLUMNS} where not has_column_privilege('redbook_api', attrelid, attnum, '${right}')`,
    ),
  ]),
]);

/** Rights that a user has by way of another one, or of the server. */
const MEMBERSHIPS: Readonly<Record<string, Change>> = Object.fromEntries([
  ...['superuser', 'createrole', 'bypassrls', 'replication'].map((power) => [
    `redbook_api that has ${power}`,
    {
      does: `alter role redbook_api ${power}`,
      undoes: `alter role redbook_api no${power}`,
      named: `rights of user redbook_api: expected a user without ${power}`,
    },
  ]),
  ...[
    ['pg_write_all_data', 'redbook_api'],
    ['pg_execute_server_program', 'redbook_api'],
    ['redbook_settlement', 'redbook_operator_api'],
    ['pg_write_all_data', 'mallory'],
    ['redbook_settlement', 'mallory'],
    ['redbook_backup', 'mallory'],
  ].map(([group, member]) => [
    `${member} that is a member of ${group}`,
    {
      does: `grant ${group} to ${member}`,
      undoes: `revoke ${group} from ${member}`,
      named: `rights of user ${member}: expected no member of ${group}`,
    },
  ]),
  ...['redbook_settlement', 'public'].map((user) => [
    `${user} that may turn the triggers off`,
    {
      does: `grant set on parameter session_replication_role to ${user}`,
      undoes: `revoke set on parameter session_replication_role from ${user}`,
      named: 'right to set session_replication_role: expected superusers alone',
    },
  ]),
  [
    'another owner of the schema',
    {
      does: 'alter schema public owner to mallory',
      undoes: 'alter schema public owner to pg_database_owner',
      named: 'owner of schema public',
    },
  ],
]);

/** A new object of each kind that Postgres has: where it would take part in a statement, and in the schema of the ledger. */
const FURTHER: Readonly<Record<string, Change>> = Object.fromEntries(
  [
    ['function', 'f(text) returns text language sql as $$ select $1 $$', 'f(text)', 'function f(text)'],
    ['procedure', 'p() language sql as $$ select 1 $$', 'p()', 'function p()'],
    ['aggregate', 'a(bigint) (sfunc = pg_catalog.int8pl, stype = bigint)', 'a(bigint)', 'function a('],
    [
      'operator',
      '<> (leftarg = bigint, rightarg = text, function = mine.mine)',
      '<> (bigint, text)',
      'operator <>',
    ],
    ['type', `t as enum ('one')`, 't', 'type t'],
    ['type', 'c as (one bigint)', 'c', 'type c'],
    ['domain', 'd as bigint', 'd', 'type d'],
    ['collation', 'c from "C"', 'c', 'collation c'],
    ['conversion', `c for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8`, 'c', 'conversion c'],
    [
      'operator class',
      'o for type bigint using btree as operator 3 =, function 1 btint8cmp(bigint, bigint)',
      'o using btree',
      'operator class o',
    ],
    ['table', 't (one bigint)', 't', 'table t:'],
    ['view', 'v as select 1 as one', 'v', 'view v:'],
    ['materialized view', 'v as select 1 as one', 'v', 'table v:'],
    ['sequence', 's', 's', 'table s:'],
    ['operator family', 'f using btree', 'f using btree', 'operator family f'],
  ].flatMap(([kind, made, dropped, named]) =>
    ['public', 'pg_catalog'].map((schema) => [
      `${kind} ${dropped} in ${schema}`,
      {
        does: `create ${kind} ${schema}.${made}`,
        // A class that is made without a family has one of its name.
        undoes: `drop ${kind!.replace('class', 'family')} ${schema}.${dropped}`,
        named: named!,
      },
    ]),
  ),
);
const ANYWHERE: Readonly<Record<string, Change>> = {
  'a cast': {
    does: 'create cast (bigint as text) with inout as implicit',
    undoes: 'drop cast (bigint as text)',
    named: 'cast bigint to text',
  },
  'an event trigger': {
    does: `create function mine.mine() returns event_trigger language plpgsql as $$ begin end $$;
      create event trigger mine on ddl_command_end execute function mine.mine()`,
    undoes: 'drop event trigger mine; drop function mine.mine()',
    named: 'event trigger mine',
  },
  'a disabled event trigger': {
    does: `create function mine.mine() returns event_trigger language plpgsql as $$ begin end $$;
      create event trigger mine on ddl_command_end execute function mine.mine(); alter event trigger mine disable`,
    undoes: 'drop event trigger mine; drop function mine.mine()',
    named: 'event trigger mine',
  },
  'an operator of a family of Postgres': {
    does: `create operator mine.< (leftarg = bigint, rightarg = text, function = mine.mine);
      alter operator family pg_catalog.integer_ops using btree add operator 1 mine.< (bigint, text)`,
    undoes: `alter operator family pg_catalog.integer_ops using btree drop operator 1 (bigint, text); drop operator mine.< (bigint, text)`,
    named: 'operator of a family mine.<(bigint,text)',
  },
  'a function of a family of Postgres': {
    does: `create function mine.compared(bigint, text) returns integer language sql immutable as 'select 0';
      alter operator family pg_catalog.integer_ops using btree add function 1 (bigint, text) mine.compared(bigint, text)`,
    undoes: `alter operator family pg_catalog.integer_ops using btree drop function 1 (bigint, text); drop function mine.compared(bigint, text)`,
    named: 'function of a family mine.compared(bigint,text)',
  },
  'a subscription, which writes rows and fires no trigger': {
    does: `create subscription mine connection 'host=127.0.0.1' publication mine with (connect = false, slot_name = none)`,
    undoes: 'drop subscription mine',
    named: 'subscription mine',
  },
  'a publication': {
    does: 'create publication mine for all tables',
    undoes: 'drop publication mine',
    named: 'mine',
  },
  'an identity of rows for replicas': {
    does: 'alter table public.movements replica identity full',
    undoes: 'alter table public.movements replica identity default',
    named: 'trades',
  },
  statistics: {
    does: 'create statistics public.mine on trade_id, sequence from public.trades',
    undoes: 'drop statistics public.mine',
    named: 'mine',
  },
  'rights on tables to come': {
    does: 'alter default privileges in schema public grant all on tables to mallory',
    undoes: 'alter default privileges in schema public revoke all on tables from mallory',
    named: 'mallory',
  },
  'rights to make objects': {
    does: 'grant create on schema public to mallory',
    undoes: 'revoke create on schema public from mallory',
    named: 'mallory',
  },
  'rights to read': {
    does: 'grant select on public.trades to mallory',
    undoes: 'revoke select on public.trades from mallory',
    named: 'mallory',
  },
  'a large object': { does: 'select lo_create(77)', undoes: 'select lo_unlink(77)', named: '77' },
  'a configuration of text search': {
    does: 'create text search configuration pg_catalog.mine (copy = pg_catalog.simple)',
    undoes: 'drop text search configuration pg_catalog.mine',
    named: 'mine',
  },
  'a foreign server': {
    does: 'create foreign data wrapper mine; create server mine foreign data wrapper mine',
    undoes: 'drop foreign data wrapper mine cascade',
    named: 'mine',
  },
  'a language': {
    does: 'create language mine handler plpgsql_call_handler',
    undoes: 'drop language mine',
    named: 'mine',
  },
  'a column with other storage': {
    does: 'alter table public.movements alter column reference set storage external',
    undoes: 'alter table public.movements alter column reference set storage extended',
    named: 'reference',
  },
  'a table without automatic vacuum': {
    does: 'alter table public.movements set (autovacuum_enabled = false)',
    undoes: 'alter table public.movements reset (autovacuum_enabled)',
    named: 'movements',
  },
  'a plain index': {
    does: 'create index mine on public.trades (quote)',
    undoes: 'drop index public.mine',
    named: 'mine',
  },
  'another comment': {
    does: `comment on schema public is 'mine'`,
    undoes: 'comment on schema public is null',
    named: 'mine',
  },
};

/** A setting that a database or a user may give to sessions. */
interface Setting {
  readonly name: string;
  readonly category: string;
  /** SQL of another value. */
  readonly other: string;
}

const OTHER_VALUES: Readonly<Record<string, string>> = {
  client_encoding: 'LATIN1',
  DateStyle: 'German',
  default_table_access_method: 'mine',
  default_text_search_config: 'pg_catalog.german',
  lc_monetary: 'POSIX',
  lc_numeric: 'POSIX',
  lc_time: 'POSIX',
  restrict_nonsystem_relation_kind: 'view',
  search_path: 'mine',
  synchronous_commit: 'off',
  session_preload_libraries: 'auto_explain',
  TimeZone: 'Asia/Kathmandu',
  timezone_abbreviations: 'India',
};
/** All that Postgres lets a database or a user give to sessions. */
const SETTINGS = `
  select name, category, quote_literal(case
    when $1::jsonb ? name then $1::jsonb ->> name
    when vartype = 'bool' then case reset_val when 'on' then 'off' else 'on' end
    when vartype = 'enum' then (select value from unnest(enumvals) as value where value <> reset_val limit 1)
    when vartype in ('integer', 'real') then case when reset_val::numeric = max_val::numeric then min_val else max_val end
    else 'mine' end) as other
  from pg_settings where context in ('user', 'superuser', 'backend', 'superuser-backend')`;

/** Settings that may differ in a session, each kind with the reason why it changes no row, no verdict and no meaning. */
const DIFFERS: readonly (readonly [settings: RegExp, reason: string])[] = [
  [/^Query Tuning/, 'a plan, and any plan gives the same rows'],
  [/^(Reporting and Logging|Statistics) /, 'what the server writes about statements'],
  [/^Resource Usage (?!.* (temp_file_limit|max_stack_depth)$)/, 'how fast a statement runs'],
  [/ (jit_\w+|trace_\w+|debug_\w+|force_parallel_mode|post_auth_delay|backtrace_functions)$/, 'the same'],
  [
    / (wal_\w+|commit_\w+|deadlock_timeout|synchronize_seqscans|gin_pending_list_limit|vacuum_\w+)$/,
    'the same',
  ],
  [/ (default_toast_compression|default_tablespace|temp_tablespaces)$/, 'where and how a table is stored'],
  [/ (client_min_messages|lc_messages)$/, 'texts of errors and notices, which no process reads'],
  [/^Connections and Authentication . Authentication /, 'how passwords are made'],
  [/ (createrole_self_grant|lo_compat_privileges)$/, 'statements that Redbook does not make'],
  [/ (extension_\w+|allow_in_place_tablespaces|event_triggers|icu_validation_level)$/, 'the same'],
  [/ (tcp_\w+|client_connection_check_interval)$/, 'ends a connection of a client that is silent'],
  [/ (temp_file_limit|max_stack_depth)$/, 'a superuser alone sets it; a statement that it ends tells so'],
  // They are there once a session has run a function in PL/pgSQL.
  [
    / plpgsql\.\w+$/,
    'how functions are compiled, and those of the release have no ambiguous name and no assertion',
  ],
  [/ dynamic_library_path$/, 'a superuser alone sets it; libraries of the release are of Postgres'],
];

/** Objects that Postgres refuses to make in its own schema. */
const REFUSED = [
  'table t in pg_catalog',
  'type c in pg_catalog',
  'materialized view v in pg_catalog',
  'view v in pg_catalog',
  'sequence s in pg_catalog',
];

/** Changes that no reconcile names, each with the reason why it changes no verdict and no row. */
const UNNAMED: Readonly<Record<string, string>> = {
  'operator <> (bigint, text) in public': 'statements of Redbook search pg_catalog alone',
  'type t in public': 'the same',
  'type c in public': 'the same',
  'domain d in public': 'the same',
  'collation c in public': 'the same',
  'conversion c in public': 'the same',
  'operator class o using btree in public': 'the same, and an index with it is named',
  'operator family f using btree in public': 'the same',
  'a disabled event trigger': 'it does not fire',
  'a publication': 'others read rows, and write none',
  'an identity of rows for replicas': 'the same',
  statistics: 'plans alone follow from them',
  'rights on tables to come': 'each table of the release is there, and each right on it is named',
  'rights to make objects': 'each object is named, or takes no part',
  'rights to read': 'further users may read',
  'a large object': 'no statement reads one',
  'a configuration of text search': 'no statement searches text',
  'a foreign server': 'a table of it is named',
  'a language': 'a function in it is named',
  'a column with other storage': 'values stay the same',
  'a table without automatic vacuum': 'rows stay the same',
  'a plain index': 'it finds what Postgres finds by its own operators',
  'another comment': 'nobody reads it',
};

describe('books: reconcile of another schema', function () {
  this.timeout(300_000);
  let postgres: PostgresServer;
  let books: CorruptedBooks;
  before(async () => {
    postgres = await startLedgerServer();
    books = await CorruptedBooks.open(postgres.url);
    await grantRights(async (text, values) => (await books.client.query(text, values as unknown[])).rows);
    await books.client.query(`create schema mine;
      create function mine.mine(bigint, text) returns boolean language sql as 'select false';
      create function mine.compared(bigint, bigint) returns integer language sql immutable as 'select 0';
      create operator class mine.mine for type bigint using btree as operator 1 <, operator 2 <=, operator 3 =,
        operator 4 >=, operator 5 >, function 1 mine.compared(bigint, bigint);
      create access method mine type table handler heap_tableam_handler;
      create role mallory login`);
  });
  after(async () => {
    await books?.close();
    await postgres?.stop();
  });

  /** Makes a change. @returns false when Postgres refuses it, as it does what something else needs */
  async function isMade({ does }: Change): Promise<boolean> {
    try {
      await books.client.query(does);
      return true;
    } catch {
      return false;
    }
  }

  /** Makes changes together and undoes them. @returns those that were made, and those of them that were not named */
  async function held(changes: readonly Change[]): Promise<{ made: Change[]; unnamed: Change[] }> {
    const made: Change[] = [];
    for (const change of changes) if (await isMade(change)) made.push(change);
    const told = made.length === 0 ? [] : await books.schemaDifferences();
    for (const { undoes } of made.toReversed()) await books.client.query(undoes);
    const isNamed = ({ named }: Change): boolean => told.some((text) => text.includes(named));
    return { made, unnamed: made.filter((change) => !isNamed(change)) };
  }

  async function sweep(ways: Readonly<Record<string, Way>>): Promise<void> {
    const wrong: string[] = [];
    for (const [what, way] of Object.entries(ways)) {
      const { rows: changes } = await books.client.query<Change>(way);
      const step = AT_ONCE.includes(what) ? changes.length : TOGETHER;
      let count = 0;
      for (let at = 0; at < changes.length; at += step) {
        const { made, unnamed } = await held(changes.slice(at, at + step));
        count += made.length;
        wrong.push(...unnamed.map(({ does }) => `${what}: ${does}`));
      }
      if (count === 0) wrong.push(`${what}: of ${changes.length} changes none was made`);
    }
    expect(wrong.join('\n')).to.equal('');
  }

  it('names each object that is changed', () => sweep(OBJECTS));
  it('names each right that somebody was given', () => sweep(RIGHTS));

  it('names each right that a user has by way of another one', async () => {
    for (const [what, change] of Object.entries(MEMBERSHIPS)) {
      const { made, unnamed } = await held([change]);
      expect([made.length, unnamed.length], what).to.deep.equal([1, 0]);
    }
  });

  it('names each further object', async () => {
    const entries = Object.entries({ ...FURTHER, ...ANYWHERE });
    const wrong: string[] = [];
    // One by one, as an object of the schema of Postgres is named like one of the ledger's.
    for (const [what, change] of entries) {
      const { made, unnamed } = await held([change]);
      const isRefused = made.length === 0;
      if (isRefused ? !REFUSED.includes(what) : unnamed.length > 0 !== what in UNNAMED) wrong.push(what);
    }
    expect(wrong).to.deep.equal([]);
  });

  /** The settings of a session of Redbook, which is not of a superuser. */
  async function sessionNow(): Promise<Map<string, string>> {
    const session = new pg.Client({ connectionString: books.fixture.databaseUrl });
    await session.connect();
    try {
      await session.query('set session authorization redbook_settlement');
      await session.query(sessionSettings({ patienceMs: 0, pauseMs: 0 }));
      const { rows } = await session.query('select name, setting from pg_settings');
      return new Map(rows.map(({ name, setting }) => [name, setting]));
    } finally {
      await session.end();
    }
  }

  it('begins each session with every setting that changes a meaning, or names it', async () => {
    const database = new URL(books.fixture.databaseUrl).pathname.slice(1);
    const { rows: settings } = await books.client.query<Setting>(SETTINGS, [JSON.stringify(OTHER_VALUES)]);
    const usual = await sessionNow();
    const wrong: string[] = [];
    const outcomes = { refused: [] as string[], set: 0, named: [] as string[], differs: 0 };
    for (const { name, category, other } of settings) {
      const does = `alter database "${database}" set "${name}" = ${other}`;
      const mayDiffer = DIFFERS.some(([pattern]) => pattern.test(`${category} ${name}`));
      if (!(await isMade({ does, undoes: '', named: '' }))) {
        if (!mayDiffer) outcomes.refused.push(name);
        continue;
      }
      const { violations } = await books.fixture.ledger.checks.foreign();
      const isNamed = violations.some(
        ({ subject, found }) => subject === 'setting of the database' && found.startsWith(`${name}=`),
      );
      // A library that is missing ends sessions, and is named to those that began before.
      const now = isNamed ? undefined : await sessionNow();
      // That a transaction only reads cannot be reset by its name.
      await books.client.query(`alter database "${database}" reset all`);
      if (isNamed) outcomes.named.push(name);
      else if (now?.get(name) === usual.get(name)) outcomes.set += 1;
      else if (mayDiffer) outcomes.differs += 1;
      else wrong.push(`${name} (${category}): ${usual.get(name)} became ${now?.get(name)}`);
    }
    expect(wrong).to.deep.equal([]);
    expect(outcomes.named).to.include.members([
      'allow_system_table_mods',
      'ignore_checksum_failure',
      'local_preload_libraries',
      'session_preload_libraries',
      'session_replication_role',
      'zero_damaged_pages',
    ]);
    // Postgres takes them as it starts a session, or in a transaction.
    expect(outcomes.refused).to.have.members([
      'ignore_system_indexes',
      'transaction_deferrable',
      'transaction_isolation',
    ]);
    expect(outcomes.set).to.be.above(30);
  });

  it('names a setting of a user that turns off what guards the tables', async () => {
    const database = new URL(books.fixture.databaseUrl).pathname.slice(1);
    for (const of of [`redbook_api in database "${database}"`, 'redbook_api', 'all']) {
      const { made, unnamed } = await held([
        {
          does: `alter role ${of} set session_replication_role = replica`,
          undoes: `alter role ${of} reset session_replication_role`,
          named: 'session_replication_role=replica',
        },
      ]);
      expect([made.length, unnamed.length], of).to.deep.equal([1, 0]);
    }
  });

  it('finds nothing once everything is as it was', async () => {
    expect(await books.differences()).to.deep.equal([]);
  });
});
