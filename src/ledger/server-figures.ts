/** Reads figures of the Postgres server for its operator. */

import type { Pools } from './pools.ts';
import { askOnce, prepared } from './queries.ts';

export interface PostgresFigures {
  readonly connections: number;
  readonly maxConnections: number;
  /** Seconds since the log was archived, while the newest attempt failed; otherwise 0. Null where nothing archives. */
  readonly archiveAgeSeconds: number | null;
  /** Bytes of its log that Postgres keeps for the replica that is furthest behind. Null without replication slots. */
  readonly replicationLagBytes: number | null;
  /** Seconds since the last backup of each kind that ended well. */
  readonly backupAges: Readonly<Record<string, number>>;
  /** Seconds since the first attempt of each kind that came after it; 0 if there was none. */
  readonly backupsUnfinished: Readonly<Record<string, number>>;
  /** Segments that begin after the last settled event. */
  readonly segmentsAhead: number;
}

const READ = prepared(`
  select (select sum(numbackends) from pg_stat_database)::integer as connections,
    current_setting('max_connections')::integer as "maxConnections",
    (case
      when current_setting('archive_mode') = 'off' then null
      when last_failed_time > coalesce(last_archived_time, '-infinity')
        then extract(epoch from now() - coalesce(last_archived_time, stats_reset))
      else 0
    end)::float8 as "archiveAgeSeconds",
    (select max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn))::float8 from pg_replication_slots)
      as "replicationLagBytes",
    (select coalesce(jsonb_object_agg(kind, extract(epoch from clock_timestamp() - at)), '{}')
      from public.backups where at is not null) as "backupAges",
    (select coalesce(jsonb_object_agg(kind,
        case when at >= begun_at then 0 else extract(epoch from clock_timestamp() - begun_at) end), '{}')
      from public.backups) as "backupsUnfinished",
    (select count(*) from public.segments join public.engine_cursor on from_sequence > sequence)::integer
      as "segmentsAhead"
  from pg_stat_archiver`);

/** Errors as in `askOnce`. */
export async function readPostgresFigures({ public: pool }: Pick<Pools, 'public'>): Promise<PostgresFigures> {
  const [figures] = await askOnce<PostgresFigures>(pool, READ);
  return figures!;
}

/** Works before the migrations have run. Errors as in `askOnce`. */
export async function lookAtServer({
  public: pool,
}: Pick<Pools, 'public'>): Promise<{ readonly timeMs: number; readonly hasTables: boolean }> {
  const [seen] = await askOnce<{ timeMs: number; hasTables: boolean }>(
    pool,
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "timeMs",
      to_regclass('public.engine_cursor') is not null as "hasTables"`,
  );
  return seen!;
}
