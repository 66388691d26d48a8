/** Checks the functions, triggers, unique indexes and constraints that the books rely on, by digests of their texts. */

import type { LedgerQuery } from './query.ts';
import { SCHEMA_DIGESTS } from './schema-digests.ts';

/** Each object that guards the tables, with a digest of its text. */
export const SCHEMA_OBJECTS = `
  select name, substr(encode(sha256(convert_to(text, 'UTF8')), 'hex'), 1, 16) as digest
  from (
    select format('function %s', oid::regprocedure) as name,
      concat_ws('/', prosrc, provolatile, prosecdef, proisstrict, proparallel, proconfig, prorettype::regtype, lang) as text
    from pg_proc cross join lateral (select lanname as lang from pg_language where pg_language.oid = prolang) as language
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    union all
    select format('trigger %s on %s', tgname, tgrelid::regclass), concat(pg_get_triggerdef(oid), tgenabled)
    from pg_trigger where not tgisinternal and tgrelid in (select oid from own)
    union all
    select format('constraint %s on %s', conname, conrelid::regclass), concat(pg_get_constraintdef(oid), convalidated)
    from pg_constraint where conrelid in (select oid from own) and contype <> 'n'
    union all
    select format('index %s on %s', indexrelid::regclass, indrelid::regclass),
      concat(pg_get_indexdef(indexrelid), indisvalid and indisready and indislive)
    from pg_index where indisunique and indrelid in (select oid from own)
    union all
    select format('rule %s on %s', rulename, ev_class::regclass), pg_get_ruledef(oid)
    from pg_rewrite where ev_class in (select oid from own)
    union all
    select format('policy %s on %s', polname, polrelid::regclass), 'a policy' from pg_policy where polrelid in (select oid from own)
  ) as objects`;

export const OWN_TABLES = `
  own as (select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname !~ '^knex_')`;

const DUE = Object.entries(SCHEMA_DIGESTS)
  .map(([name, digest]) => `('${name}', '${digest}')`)
  .join(', ');

/** Tables of this release; later ones may have tables and guards of their own. */
const GUARDED = [
  ...new Set(Object.keys(SCHEMA_DIGESTS).flatMap((name) => / on (\w+)$/.exec(name)?.[1] ?? [])),
];

export const SCHEMA_CHECKS: readonly LedgerQuery[] = [
  {
    name: 'guards are in place',
    meaning:
      'functions, triggers, unique indexes and constraints are those of the migrations and in force, and no table has another trigger or rule',
    sql: `
      with ${OWN_TABLES}, found as (${SCHEMA_OBJECTS})
      select name as subject, 'the text of this release, ' || due.digest as expected,
        coalesce('another text, ' || found.digest, 'missing') as found
      from (values ${DUE}) as due (name, digest) left join found using (name)
      where due.digest is distinct from found.digest
      union all
      select name, 'nothing of this name', digest from found
      where name ~ '^(trigger|rule|policy) ' and substring(name from ' on (.*)$') in (${GUARDED.map((name) => `'${name}'`).join(', ')})
        and not exists (select from (values ${DUE}) as due (known) where known = name)`,
  },
];
