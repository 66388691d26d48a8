/** Exports the figures of the servers that end an exchange when nobody watches them: memory, disk, clock, connections. */

import type { Redis } from 'ioredis';
import { oneAtATime } from '../domain/shared-read.ts';
import type { PostgresFigures } from '../ledger/index.ts';
import type { Metrics } from '../process/metrics.ts';
import type { Backends } from './backends.ts';

interface RedisFigures {
  readonly usedMemory: number;
  /** 0 without a limit. */
  readonly maxMemory: number;
  readonly writeFailed: 0 | 1;
  /** Time in which its thread wrote and flushed its append-only file, since its start; undefined before Redis 7.2. */
  readonly flushSeconds: number | undefined;
  /** Turns of its thread, each of which flushes at most once. */
  readonly turns: number | undefined;
  /** Its clock minus that of this process, without the way of the answer. */
  readonly clockOffsetSeconds: number;
}

/** Only one role does so, because each scrape asks the servers. */
export function addServerMetrics({ metrics, engineRedis, queueRedis, names, ledger }: Backends): void {
  const servers: Record<string, Redis> = { engine: engineRedis };
  if (names.queue !== names.engine) servers.queue = queueRedis;
  addRedisMetrics(metrics, servers);
  const read = oneAtATime(() => ledger.serverFigures());
  const gauge = (name: string, help: string, figure: (figures: PostgresFigures) => number | null): void =>
    metrics.gauge(`redbook_postgres_${name}`, help, async () => figure(await read()) ?? {});
  gauge('connections', 'Connections to Postgres, of everybody.', ({ connections }) => connections);
  gauge('max_connections', 'Its limit, max_connections.', ({ maxConnections }) => maxConnections);
  gauge(
    'archive_age_seconds',
    'Time since Postgres archived its log, while the newest attempt failed; else 0. Absent where nothing archives.',
    ({ archiveAgeSeconds }) => archiveAgeSeconds,
  );
  gauge(
    'replication_lag_bytes',
    'Log that Postgres keeps for the replica that is furthest behind. Absent without replication slots.',
    ({ replicationLagBytes }) => replicationLagBytes,
  );
  gauge(
    'segments_ahead',
    'Segments that begin after the last settled event. Settlement ends at the end of the last one.',
    ({ segmentsAhead }) => segmentsAhead,
  );
  metrics.gauge(
    'redbook_backup_age_seconds',
    'Time since the last backup of Postgres, copy of the engine, and rehearsal of a restore. Absent before the first.',
    async () => (await read()).backupAges,
    'kind',
  );
  metrics.gauge(
    'redbook_backup_unfinished_seconds',
    'Time since the first of the attempts of which none has ended well; 0 while the last one has.',
    async () => (await read()).backupsUnfinished,
    'kind',
  );
}

function addRedisMetrics(metrics: Metrics, servers: Readonly<Record<string, Redis>>): void {
  const read = oneAtATime(async () => {
    const found: Record<string, RedisFigures> = {};
    // A server that is away is left out.
    for (const [server, redis] of Object.entries(servers)) {
      const text = await redis.info('default', 'debug').catch(() => undefined);
      if (text !== undefined) found[server] = figuresIn(text);
    }
    return found;
  });
  const gauge = (name: string, help: string, figure: (figures: RedisFigures) => number | undefined): void =>
    metrics.gauge(
      `redbook_redis_${name}`,
      help,
      async () => {
        const reading: Record<string, number> = {};
        for (const [server, found] of Object.entries(await read())) {
          const value = figure(found);
          if (value !== undefined) reading[server] = value;
        }
        return reading;
      },
      'server',
    );
  gauge('used_memory_bytes', 'Memory that a Redis uses.', ({ usedMemory }) => usedMemory);
  gauge('max_memory_bytes', 'Its limit, maxmemory; 0 without one.', ({ maxMemory }) => maxMemory);
  gauge(
    'clock_offset_seconds',
    'Its clock minus that of the process that asks.',
    ({ clockOffsetSeconds }) => clockOffsetSeconds,
  );
  gauge('write_failed', '1 while it cannot write its append-only file.', ({ writeFailed }) => writeFailed);
  gauge(
    'flush_seconds',
    'Time in which its thread wrote and flushed its append-only file, since its start. Absent before Redis 7.2.',
    ({ flushSeconds }) => flushSeconds,
  );
  gauge('turns', 'Turns of its thread since its start. Absent before Redis 7.2.', ({ turns }) => turns);
}

function figuresIn(text: string): RedisFigures {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1];
  const count = (name: string): number | undefined => {
    const found = field(name);
    return found === undefined ? undefined : Number(found);
  };
  const flushMicros = count('eventloop_duration_aof_sum');
  return {
    usedMemory: Number(field('used_memory')),
    maxMemory: Number(field('maxmemory')),
    clockOffsetSeconds: Number(field('server_time_usec')) / 1e6 - Date.now() / 1e3,
    writeFailed: field('aof_last_write_status') === 'err' ? 1 : 0,
    flushSeconds: flushMicros === undefined ? undefined : flushMicros / 1e6,
    turns: count('eventloop_cycles'),
  };
}
