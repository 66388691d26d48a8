/** Checks that the tables and views, and all that guards them, are those which the migrations make of an empty database. */

import { WRITES } from '../grants.ts';
import type { LedgerQuery } from './query.ts';
import { LAST_MIGRATION, SCHEMA_OBJECTS, TEXTS_COMPARED_UP_TO } from './schema-objects.ts';

/** True for what an extension brought. */
const ofExtension = (catalog: string, oid: string): string =>
  `exists (select from pg_depend where classid = '${catalog}'::regclass and objid = ${oid} and deptype = 'e')`;

/** Tables and views of the ledger; knex keeps which migrations were applied in two of its own. */
export const OWN_TABLES = `
  own as (
    select oid, relname::text as relation from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and relname !~ '^knex_'
      and not ${ofExtension('pg_class', 'oid')})`;

const COLUMNS_OF = (numbers: string, relation: string): string => `
  (select string_agg(coalesce(attname, 'an expression'), ',' order by place)
   from unnest(${numbers}) with ordinality as keys (number, place)
   left join pg_attribute on attrelid = ${relation} and attnum = number)`;

/**
 * Rows of kind, relation, name, facts and text. Facts are columns of catalogs, which mean the same in every version of
 * Postgres. A text is what Postgres makes of an expression, which a later version may write in another way.
 */
export const OBJECTS_FOUND = `
  select case relkind when 'v' then 'view' else 'table' end as kind, '' as relation, relname::text as name, concat_ws(' ', relkind, relpersistence,
      case when relrowsecurity or relforcerowsecurity then 'row security' end,
      case when exists (select from pg_inherits where pg_class.oid in (inhrelid, inhparent)) then 'inherits' end,
      case relkind when 'v' then array_to_string(reloptions, ' ') end) as facts,
    case relkind when 'v' then substr(encode(sha256(convert_to(pg_get_viewdef(oid), 'UTF8')), 'hex'), 1, 16) else '' end
      as text
  from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S') and relname !~ '^knex_'
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

/** Rights that no user but the owner needs, as rows of user and relation with the right that the release grants. */
const GRANTED = Object.entries(WRITES)
  .flatMap(([relation, { settlement, api, operators = api, backup = '' }]) =>
    Object.entries({
      redbook_settlement: settlement,
      redbook_api: api,
      redbook_operator_api: operators,
      redbook_backup: backup,
    }).map(([user, writes]) => `('${user}', '${relation}', '${writes.toUpperCase()}')`),
  )
  .join(', ');

export const SCHEMA_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'tables and views are those of the release',
    meaning:
      'tables, views, columns, constraints, unique indexes, triggers and functions are those that the migrations make of an empty database and in force, and there are no others',
    proof:
      'columns of catalogs; texts that Postgres makes of expressions only in versions in which the release was tried',
    sql: `
      with ${OWN_TABLES}, found as (${OBJECTS_FOUND}),
      due (kind, relation, name, facts, text) as (values
        ${DUE}),
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
    name: 'rights are those of the release',
    meaning:
      'tables and functions have one owner, and nobody but the users of the release may write to a table, each as it needs',
    proof: 'rights and owners in catalogs, by the names of users in src/ledger/grants.ts',
    sql: `
      with owned as (
        select 'table ' || relname as name, relowner as owner from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and not ${ofExtension('pg_class', 'pg_class.oid')}
        union all
        select 'function ' || proname, proowner from pg_proc
        where pronamespace = 'public'::regnamespace and not ${ofExtension('pg_proc', 'pg_proc.oid')}),
      migrating as (select relowner as owner from pg_class
        where relnamespace = 'public'::regnamespace and relname = 'knex_migrations')
      select 'owner of ' || name as subject, pg_get_userbyid(migrating.owner) as expected, pg_get_userbyid(owned.owner) as found
      from owned cross join migrating where owned.owner <> migrating.owner
      union all
      select 'rights on ' || relname, 'no ' || privilege_type,
        concat(privilege_type, ' for ', case grantee when 0 then 'everybody' else pg_get_userbyid(grantee) end)
      from pg_class cross join lateral aclexplode(relacl)
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and grantee <> relowner
        and privilege_type <> 'MAINTAIN' and not (privilege_type = 'SELECT' and grantee <> 0)
        and not exists (select from (values ${GRANTED}) as granted (grantee_name, relation, writes)
          where grantee_name = pg_get_userbyid(grantee) and relation = relname
            and privilege_type = any (string_to_array(writes, ' ')))
      union all
      select concat('rights on ', relname, '.', attname), 'no ' || privilege_type,
        concat(privilege_type, ' for ', case grantee when 0 then 'everybody' else pg_get_userbyid(grantee) end)
      from pg_class join pg_attribute on attrelid = pg_class.oid cross join lateral aclexplode(attacl)
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and privilege_type <> 'SELECT'
        and grantee <> relowner`,
  },
];
