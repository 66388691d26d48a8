-- The users of Postgres. Run this in the database of an installation, as a user who may create roles, before the first
-- start and after each change of this file. It keeps passwords, and changes nothing the second time.
--
--   redbook_owner         owns the tables: `redbook migrate` alone
--   redbook_settlement    settlement and the operator's command line
--   redbook_api           api and snapshot
--   redbook_operator_api  operator-api
--   redbook_backup        reads everything, for pg_dump, and notes backups; where a superuser runs this file, it may also take
--                         base backups by pg_basebackup and pgBackRest
--
-- `redbook migrate` grants the rights on each table, as src/ledger/grants.ts lists them.

do $$
declare
  name text;
  object record;
begin
  -- Users belong to all databases of the server, and another one may run this file at this moment.
  if (select rolsuper from pg_roles where rolname = current_user) then
    lock table pg_authid in share row exclusive mode;
  end if;
  foreach name in array array['redbook_owner', 'redbook_settlement', 'redbook_api', 'redbook_operator_api', 'redbook_backup'] loop
    begin
      if not exists (select from pg_roles where rolname = name) then
        execute format('create role %I login', name);
      end if;
    exception when duplicate_object or unique_violation then
      null; -- another database of the server got it at this moment
    end;
    execute format('grant connect on database %I to %I', current_database(), name);
    execute format('grant usage on schema public to %I', name);
  end loop;
  if (select rolsuper from pg_roles where rolname = current_user) then
    alter role redbook_backup replication;
    grant pg_read_all_settings to redbook_backup;
    -- Their names differ between versions of Postgres.
    for object in
      select oid::regprocedure::text as name from pg_proc
      where pronamespace = 'pg_catalog'::regnamespace
        and proname in ('pg_backup_start', 'pg_backup_stop', 'pg_start_backup', 'pg_stop_backup', 'pg_switch_wal', 'pg_create_restore_point')
    loop
      execute format('grant execute on function %s to redbook_backup', object.name);
    end loop;
  else
    execute format('grant redbook_owner to %I', current_user); -- otherwise it cannot hand anything over
  end if;

  execute format('revoke all on database %I from public', current_database());
  execute format('grant create on database %I to redbook_owner', current_database());
  revoke all on schema public from public;
  grant create on schema public to redbook_owner;
  -- Objects that an earlier release made as another user.
  for object in
    select format('schema %I', nspname) as name from pg_namespace
    where nspname = 'segments' and nspowner <> 'redbook_owner'::regrole
    union all
    select format('table %s', oid::regclass) from pg_class
    where relnamespace in ('public'::regnamespace, to_regnamespace('segments')) and relkind in ('r', 'p', 'v', 'm')
      and relowner <> 'redbook_owner'::regrole
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')
    union all
    select format('routine %s', oid::regprocedure) from pg_proc
    where pronamespace = 'public'::regnamespace and proowner <> 'redbook_owner'::regrole
      and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
  loop
    execute format('alter %s owner to redbook_owner', object.name);
  end loop;
end $$;
