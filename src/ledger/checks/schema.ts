/** Checks that the tables and views, and all that guards them, are those which the migrations make of an empty database. */

import { GRANTED, LEDGER_USERS, SETTLEMENT } from '../grants.ts';
import { DIVIDED } from '../segments.ts';
import { GUARDING_SETTINGS } from './foreign.ts';
import type { LedgerQuery } from './query.ts';
import { LAST_MIGRATION, SCHEMA_OBJECTS, TEXTS_COMPARED_UP_TO } from './schema-objects.ts';

/** True for what an extension brought. */
const ofExtension = (catalog: string, oid: string): string =>
  `exists (select from pg_depend where classid = '${catalog}'::regclass and objid = ${oid} and deptype = 'e')`;

/** The schemas of tables and of their segments. */
const OWN_SCHEMAS = `('public'::regnamespace, to_regnamespace('segments'))`;
const NAME = `case relnamespace when 'public'::regnamespace then '' else 'segments.' end || relname`;

/** Tables, segments and views of the ledger; knex keeps which migrations were applied in two of its own. */
export const OWN_TABLES = `
  own as (
    select oid, ${NAME} as relation from pg_class
    where relnamespace in ${OWN_SCHEMAS} and relkind in ('r', 'p', 'v')
      and not ${ofExtension('pg_class', 'oid')})`;

/** True for the relation or the name of an object of the first segment: each other one has the same under its number. */
const OF_FIRST_SEGMENT = `concat(release.relation, ' ', release.name) ~ '(^| )segments\\.'`;
const DIVIDED_NAMES = DIVIDED.join('|');

const COLUMNS_OF = (numbers: string, relation: string): string => `
  (select string_agg(coalesce(attname, 'an expression'), ',' order by place)
   from unnest(${numbers}) with ordinality as keys (number, place)
   left join pg_attribute on attrelid = ${relation} and attnum = number)`;

/**
 * Rows of kind, relation, name, facts and text. Facts are columns of catalogs, which mean the same in every version of
 * Postgres. A text is what Postgres makes of an expression, which a later version may write in another way.
 */
export const OBJECTS_FOUND = `
  select case relkind when 'v' then 'view' else 'table' end as kind, '' as relation, ${NAME} as name, concat_ws(' ', relkind, relpersistence,
      case when relrowsecurity or relforcerowsecurity then 'row security' end,
      case when exists (select from pg_inherits where pg_class.oid in (inhrelid, inhparent)) then 'inherits' end,
      pg_get_partkeydef(pg_class.oid),
      case relkind when 'v' then array_to_string(reloptions, ' ') end,
      (select nullif(amname, 'heap') from pg_am where pg_am.oid = relam),
      (select concat_ws(' ', seqstart, seqincrement, seqmin, seqmax, seqcycle) from pg_sequence where seqrelid = pg_class.oid))
      as facts,
    case relkind when 'v' then substr(encode(sha256(convert_to(pg_get_viewdef(oid), 'UTF8')), 'hex'), 1, 16) else '' end
      as text
  from pg_class
  where relnamespace in ${OWN_SCHEMAS} and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and not ${ofExtension('pg_class', 'pg_class.oid')}
  union all
  select 'column', relation, attname, concat_ws(' ', format_type(atttypid, atttypmod),
      case when attnotnull then 'not null' end, 'collate ' || collname, nullif(attidentity, ''), nullif(attgenerated, '')),
    coalesce(pg_get_expr(adbin, adrelid), '')
  from own join pg_attribute on attrelid = own.oid and attnum > 0 and not attisdropped
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
  left join pg_collation on pg_collation.oid = attcollation
  union all
  select 'constraint', relation, conname, concat_ws(' ', contype, ${COLUMNS_OF('conkey', 'conrelid')},
      case when not convalidated then 'not validated' end, case when condeferrable then 'deferrable' end,
      case when to_jsonb(pg_constraint) ->> 'conenforced' = 'false' then 'not enforced' end),
    case contype when 'c' then pg_get_constraintdef(pg_constraint.oid) else '' end
  from own join pg_constraint on conrelid = own.oid and contype <> 'n'
  union all
  select 'index', relation, (select relname from pg_class where pg_class.oid = indexrelid), concat_ws(' ',
      case when indisunique then 'unique' end, ${COLUMNS_OF('indkey::int2[]', 'indrelid')},
      (select string_agg(distinct opcname, ',') from pg_opclass where pg_opclass.oid = any (indclass)),
      case when not (indisvalid and indisready and indislive) then 'not valid' end,
      case when not indimmediate then 'deferred' end, case when indpred is not null then 'of some rows' end,
      case when to_jsonb(pg_index) ->> 'indnullsnotdistinct' = 'true' then 'nulls not distinct' end),
    coalesce(pg_get_expr(indpred, indrelid), '') || coalesce(pg_get_expr(indexprs, indrelid), '')
  from own join pg_index on indrelid = own.oid and (indisunique or indexprs is not null or indpred is not null)
  union all
  select 'trigger', relation, tgname, concat_ws(' ', tgtype, tgenabled, nspname || '.' || proname,
      case when tgqual is not null then 'when' end, nullif(tgattr::text, ''), nullif(encode(tgargs, 'hex'), '')), ''
  from own join pg_trigger on tgrelid = own.oid and not tgisinternal
  join pg_proc on pg_proc.oid = tgfoid join pg_namespace on pg_namespace.oid = pronamespace
  union all
  select 'function', '', concat(proname, '(', pg_get_function_identity_arguments(pg_proc.oid), ')'), concat_ws(' ',
      lanname, prokind, provolatile, proparallel, format_type(prorettype, null), case when prosecdef then 'definer' end,
      case when proisstrict then 'strict' end, array_to_string(proconfig, ' '),
      substr(encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'), 1, 16)), ''
  from pg_proc join pg_language on pg_language.oid = prolang
  where pronamespace = 'public'::regnamespace and not ${ofExtension('pg_proc', 'pg_proc.oid')}
  union all
  -- The rule that makes a view is its text.
  select 'rule', relation, rulename, 'a rule', '' from own join pg_rewrite on ev_class = own.oid
  where rulename <> '_RETURN'
  union all
  select 'policy', relation, polname, 'a policy', '' from own join pg_policy on polrelid = own.oid`;

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const DUE = SCHEMA_OBJECTS.map((object) => `(${object.map(literal).join(', ')})`).join(',\n        ');

/** The users of the release, and what makes one of them, or somebody else, more than a user of these tables. */
const USERS = `(${LEDGER_USERS.map(literal).join(', ')})`;
const POWERS = `('pg_write_all_data', 'pg_write_server_files', 'pg_execute_server_program')`;

/** Rights that no user but the owner needs, as rows of user and relation with the right that the release grants. */
const GRANTED_WRITES = GRANTED.map(({ user, relation, rights }) => {
  const writes = rights.filter((one) => one !== 'select');
  return `('${user}', '${relation}', '${writes.join(' ').toUpperCase()}')`;
}).join(', ');

export const SCHEMA_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'tables and views are those of the release',
    meaning:
      'tables, views, columns, constraints, unique indexes, triggers and functions are those that the migrations make of an empty database and in force, and there are no others',
    proof:
      'columns of catalogs; texts that Postgres makes of expressions only in versions in which the release was tried',
    sql: `
      with ${OWN_TABLES}, found as (${OBJECTS_FOUND}),
      release (kind, relation, name, facts, text) as (values
        ${DUE}),
      due as (
        select * from release where not (${OF_FIRST_SEGMENT})
        union all
        select kind, numbered.relation, numbered.name, facts, text from release cross join public.segments
        cross join lateral (select regexp_replace(release.relation, first, renamed), regexp_replace(release.name, first, renamed)
          from (select '((${DIVIDED_NAMES})_)0' as first, '\\1' || number as renamed) as numbers) as numbered (relation, name)
        where ${OF_FIRST_SEGMENT}),
      -- What a later release added stays when an operator goes back to this one, but it has no guards on these tables.
      later as (select exists (select from public.knex_migrations where name > '${LAST_MIGRATION}') as is_applied),
      compared as (
        select kind, relation, name, due.facts as due, due.text as due_text, found.facts, found.text,
          due.facts is null and is_applied and (kind not in ('trigger', 'rule', 'policy')
            or relation not in (select tables.name from due as tables where tables.kind in ('table', 'view'))) as is_later
        from due full join found using (kind, relation, name) cross join later)
      select concat_ws(' ', kind, name, 'on ' || nullif(relation, '')) as subject,
        case when due is null then 'nothing of this name' else concat_ws(' ', due, nullif(due_text, '')) end as expected,
        case when facts is null then 'missing' else concat_ws(' ', facts, nullif(text, '')) end as found
      from compared
      where not is_later and due is distinct from facts
        or due_text <> text and current_setting('server_version_num')::integer / 10000 <= ${TEXTS_COMPARED_UP_TO}`,
  },
  {
    name: 'segments follow each other',
    meaning:
      'segments are numbered from 0, each begins where the one before ends, and their tables hold the events that they say',
    proof: 'the row of each segment, and the bounds of tables in catalogs',
    sql: `
      select concat('segment ', number) as subject, concat('number ', place, ' from ', ends_before) as expected,
        concat('number ', number, ' from ', from_sequence) as found
      from (select *, row_number() over (order by number) - 1 as place,
          lag(to_sequence, 1, 0::bigint) over (order by number) as ends_before from public.segments) as placed
      where number <> place or from_sequence <> ends_before
      union all
      select concat('segment ', number, ' of ', divided.relation), due, coalesce(pg_get_expr(relpartbound, pg_class.oid), 'no table')
      from public.segments cross join unnest(array[${DIVIDED.map(literal).join(', ')}]) as divided (relation)
      cross join lateral (select format('FOR VALUES FROM (%L) TO (%L)', from_sequence::text, to_sequence::text)) as bounds (due)
      left join pg_class on pg_class.oid = to_regclass(format('segments.%I', concat(divided.relation, '_', number)))
        and exists (select from pg_inherits where inhrelid = pg_class.oid and not inhdetachpending
          and inhparent = to_regclass('public.' || divided.relation))
      where pg_get_expr(relpartbound, pg_class.oid) is distinct from due`,
  },
  {
    name: 'rights are those of the release',
    meaning:
      'tables, sequences and functions have one owner, nobody but the users of the release may write to a table, each as it needs, and none of them has the rights of another user',
    proof:
      'rights, owners and members in catalogs, by the names of users in src/ledger/grants.ts; superusers, and who may make users, are trusted',
    sql: `
      with owned as (
        select 'table ' || ${NAME} as name, relowner as owner from pg_class
        where relnamespace in ${OWN_SCHEMAS} and relkind in ('r', 'p', 'v', 'S') and not ${ofExtension('pg_class', 'pg_class.oid')}
        union all
        select 'schema ' || nspname, nspowner from pg_namespace where nspname = 'segments'
        union all
        select 'function ' || proname, proowner from pg_proc
        where pronamespace = 'public'::regnamespace and not ${ofExtension('pg_proc', 'pg_proc.oid')}),
      migrating as (select relowner as owner from pg_class
        where relnamespace = 'public'::regnamespace and relname = 'knex_migrations')
      select 'owner of ' || name as subject, pg_get_userbyid(migrating.owner) as expected, pg_get_userbyid(owned.owner) as found
      from owned cross join migrating where owned.owner <> migrating.owner
      union all
      select 'rights on ' || ${NAME}, 'no ' || privilege_type,
        concat(privilege_type, ' for ', case grantee when 0 then 'everybody' else pg_get_userbyid(grantee) end)
      from pg_class cross join lateral aclexplode(relacl)
      where relnamespace in ${OWN_SCHEMAS} and relkind in ('r', 'p', 'v', 'S') and grantee <> relowner
        and privilege_type <> 'MAINTAIN' and not (privilege_type = 'SELECT' and grantee <> 0)
        and not exists (select from (values ${GRANTED_WRITES}) as granted (grantee_name, relation, writes)
          where grantee_name = pg_get_userbyid(grantee) and relation = relname
            and privilege_type = any (string_to_array(writes, ' ')))
      union all
      select concat('rights on ', ${NAME}, '.', attname), 'no ' || privilege_type,
        concat(privilege_type, ' for ', case grantee when 0 then 'everybody' else pg_get_userbyid(grantee) end)
      from pg_class join pg_attribute on attrelid = pg_class.oid cross join lateral aclexplode(attacl)
      where relnamespace in ${OWN_SCHEMAS} and relkind in ('r', 'p', 'v') and privilege_type <> 'SELECT'
        and grantee <> relowner
      union all
      -- Settlement alone may run a function that has the rights of the owner.
      select 'rights on function ' || proname, 'no ' || privilege_type,
        concat(privilege_type, ' for ', case grantee when 0 then 'everybody' else pg_get_userbyid(grantee) end)
      from pg_proc cross join lateral aclexplode(coalesce(proacl, acldefault('f', proowner)))
      where pronamespace = 'public'::regnamespace and prosecdef and grantee <> proowner
        and (grantee = 0 or pg_get_userbyid(grantee) <> '${SETTLEMENT}')
        and not ${ofExtension('pg_proc', 'pg_proc.oid')}
      union all
      select 'rights of user ' || rolname, 'a user without ' || power, power
      from pg_roles cross join migrating cross join lateral (values
        ('superuser', rolsuper), ('createrole', rolcreaterole), ('bypassrls', rolbypassrls),
        ('replication', rolreplication and rolname <> 'redbook_backup')) as has (power, is_held)
      where rolname in ${USERS} and is_held and pg_roles.oid <> migrating.owner
      union all
      -- Who may make users may give itself each of these, and is one that the operator trusts.
      select 'rights of user ' || member.rolname, 'no member of ' || granted.rolname, 'a member'
      from pg_roles as member cross join pg_roles as granted cross join migrating
      where member.rolcanlogin and not member.rolsuper and member.oid not in (granted.oid, migrating.owner)
        and case when member.rolname in ${USERS}
          then granted.rolsuper or granted.oid = migrating.owner or granted.rolname in ${USERS}
            or granted.rolname in ${POWERS}
          else not member.rolcreaterole and (granted.rolname in ${USERS} or granted.rolname = 'pg_write_all_data') end
        and pg_has_role(member.oid, granted.oid, 'member')
      union all
      -- The owner of a schema may drop what is in it.
      select 'owner of schema public', pg_get_userbyid(migrating.owner), pg_get_userbyid(nspowner)
      from pg_namespace join pg_roles on pg_roles.oid = nspowner cross join migrating
      where nspname = 'public' and not rolsuper and rolname <> 'pg_database_owner'
        and nspowner not in (migrating.owner, (select datdba from pg_database where datname = current_database()))`,
    later: {
      sinceMajor: 15,
      sql: `
      select 'right to set ' || parname, 'superusers alone',
        case grantee when 0 then 'everybody' else pg_get_userbyid(grantee) end
      from pg_parameter_acl cross join lateral aclexplode(paracl)
      where parname in ${GUARDING_SETTINGS} and grantee not in (select oid from pg_roles where rolsuper)`,
    },
  },
];
