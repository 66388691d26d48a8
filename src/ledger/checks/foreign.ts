/** Finds what could change the meaning of a statement and is neither of Postgres nor of the release. */

import type { LedgerQuery } from './query.ts';

/** Objects that a database is made with have lower numbers, by promise of Postgres (FirstNormalObjectId). */
const FIRST_FOREIGN = 16_384;

/** Settings that change what statements read or what triggers do, and that most users cannot set for a session. */
const UNSET = [
  'session_replication_role',
  'zero_damaged_pages',
  'ignore_checksum_failure',
  'ignore_system_indexes',
  'allow_system_table_mods',
  'session_preload_libraries',
  'local_preload_libraries',
];
export const GUARDING_SETTINGS = `(${UNSET.map((name) => `'${name}'`).join(', ')})`;

/** Objects of a kind that were made in the schema of Postgres, or that hold in every schema. */
const objects = (kind: string, catalog: string, name: string, where: string): string => `
      select concat_ws(' ', '${kind}', ${name}) as subject from ${catalog}
      where oid >= ${FIRST_FOREIGN} and ${where}`;

const inSystem = (column: string): string => `${column} = 'pg_catalog'::regnamespace`;

/**
 * Statements of Redbook search `pg_catalog` alone, so objects of other schemas take no part in them. A cast takes part
 * wherever its types are. A reconcile whose database has one of these proves nothing.
 */
export const FOREIGN_CHECK: LedgerQuery = {
  name: 'nothing foreign takes part',
  meaning:
    'no function, operator, cast, type, collation, index, event trigger, subscription, owner or setting that is neither of Postgres nor of the release changes what a statement means; while one does, the other checks prove nothing',
  proof:
    'numbers of objects, of which Postgres promises that its own are below 16,384; settings of this database and of all sessions',
  sql: `
    select subject, 'nothing of this name' as expected, 'made after the database' as found from (
      ${[
        objects('function', 'pg_proc', 'oid::regprocedure', inSystem('pronamespace')),
        objects('operator', 'pg_operator', 'oid::regoperator', inSystem('oprnamespace')),
        objects('type', 'pg_type', 'typname', inSystem('typnamespace')),
        objects('collation', 'pg_collation', 'collname', inSystem('collnamespace')),
        objects('operator class', 'pg_opclass', 'opcname', inSystem('opcnamespace')),
        objects('operator family', 'pg_opfamily', 'opfname', inSystem('opfnamespace')),
        objects('operator of a family', 'pg_amop', 'amopopr::regoperator', `amopfamily < ${FIRST_FOREIGN}`),
        objects(
          'function of a family',
          'pg_amproc',
          'amproc::regprocedure',
          `amprocfamily < ${FIRST_FOREIGN}`,
        ),
        objects('conversion', 'pg_conversion', 'conname', inSystem('connamespace')),
        objects('relation', 'pg_class', 'relname', inSystem('relnamespace')),
        objects(
          'cast',
          'pg_cast',
          `concat(format_type(castsource, null), ' to ', format_type(casttarget, null))`,
          `castsource < ${FIRST_FOREIGN} and casttarget < ${FIRST_FOREIGN}`,
        ),
        objects('event trigger', 'pg_event_trigger', 'evtname', `evtenabled <> 'D'`),
      ].join('\n      union all')}
    ) as foreign_objects
    union all
    -- A replaced function keeps its number. Those of Postgres are written in C, or in SQL where they were always.
    select 'function ' || oid::regprocedure, 'a function of Postgres', 'another text' from pg_proc
    where oid < ${FIRST_FOREIGN} and ${inSystem('pronamespace')}
      and prolang in (select oid from pg_language where lanname <> all (array['internal', 'c', 'sql']))
    union all
    -- An index gives the rows that its operator class finds, also to a statement that names an operator of Postgres.
    select distinct concat_ws(' ', 'index', named.relname, 'on', own.relname), 'operator classes of Postgres', opcname
    from pg_index join pg_class as named on named.oid = indexrelid join pg_class as own on own.oid = indrelid
    join pg_opclass on pg_opclass.oid = any (indclass)
    where own.relnamespace in (to_regnamespace('public'), to_regnamespace('segments')) and (pg_opclass.oid >= ${FIRST_FOREIGN} or opcmethod >= ${FIRST_FOREIGN})
    union all
    -- It writes rows, and no trigger of a table fires.
    select 'subscription ' || subname, 'nothing of this name', 'made after the database' from pg_subscription
    where subdbid = (select oid from pg_database where datname = current_database())
    union all
    -- A view reads with the rights of its owner, and fails at a table of another one.
    select 'owner of table ' || relation, pg_get_userbyid(viewing.relowner), pg_get_userbyid(own.relowner)
    from (values ('ledger_entries', 'trades'), ('ledger_entries', 'movements'), ('ledger_entries', 'adopted_balances'),
      ('orders', 'live_orders'), ('orders', 'ended_orders'), ('orders', 'late_orders')) as reading (view, relation)
    join pg_class as own on own.oid = to_regclass('public.' || relation)
    join pg_class as viewing on viewing.oid = to_regclass('public.' || view)
    where own.relowner <> viewing.relowner
    union all
    select 'setting ' || name, boot_val, reset_val from pg_settings
    where name in ${GUARDING_SETTINGS} and name not like '%libraries' and reset_val <> boot_val
    union all
    select concat('setting of ', coalesce('user ' || nullif(setrole, 0)::regrole, 'the database')), 'none', setting
    from pg_db_role_setting cross join unnest(setconfig) as setting
    where setdatabase in (0, (select oid from pg_database where datname = current_database()))
      and split_part(setting, '=', 1) in ${GUARDING_SETTINGS}`,
};
