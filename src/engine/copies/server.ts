/** One server of the list: what it tells of itself, and the orders of keepers. */

import type { Redis } from 'ioredis';
import type { HostPort } from '../../redis/address.ts';
import { KEYS } from '../keys.ts';
import { wrongSettings } from '../server-settings.ts';
import { ENGINE_FORMAT, readState } from '../state.ts';
import { LIST_FIELDS, readList } from './list.ts';

/** The reply to ROLE. */
export interface ReplicationRole {
  readonly isPrimary: boolean;
  /** Offset of the replication stream: written by a primary, received by a replica. */
  readonly offset: number;
  /** Name of the server that a replica follows. */
  readonly follows: string | undefined;
  /** True for a replica that has everything which its primary sent. */
  readonly isConnected: boolean;
  /** Offsets that the replicas of a primary have acknowledged, by their names. */
  readonly replicas: ReadonlyMap<string, number>;
}

type RoleReply =
  | readonly ['master', number, readonly (readonly [ip: string, port: string, offset: string])[]]
  | readonly ['slave', host: string, port: number, state: string, offset: number];

export function readRole(reply: unknown): ReplicationRole {
  const role = reply as RoleReply;
  if (role[0] === 'master') {
    const replicas = new Map(role[2].map(([ip, port, offset]) => [`${ip}:${port}`, Number(offset)]));
    return { isPrimary: true, offset: role[1], follows: undefined, isConnected: false, replicas };
  }
  const [, host, port, state, offset] = role;
  const [follows, isConnected] = [`${host}:${port}`, state === 'connected'];
  return { isPrimary: false, offset, follows, isConnected, replicas: new Map() };
}

/** Returns the number of times that a primary has sent all its data to a replica, as INFO has it. */
export const fullCopiesIn = (stats: string): string => /^sync_full:(\d+)/m.exec(stats)?.[1] ?? '';

export interface SeenServer extends ReplicationRole {
  readonly epoch: number;
  readonly sequence: number;
  /** Version of the list that it has; 0 without one. */
  readonly version: number;
  readonly names: readonly string[];
  readonly verified: string | null;
  readonly runId: string;
  readonly fullCopies: string;
  /** True while what the server acknowledges may be missing from its file. */
  readonly isFileBehind: boolean;
  /** Unix milliseconds by its clock. */
  readonly timeMs: number;
}

/** Asks a server what it is. Rejects when it does not answer in time. */
export async function lookAt(redis: Redis): Promise<SeenServer> {
  const [role, state, copies, info, [seconds, micros]] = await Promise.all([
    redis.role(),
    redis.hgetBuffer(KEYS.engine, 'state'),
    redis.hmget(KEYS.copies, ...LIST_FIELDS, 'verified'),
    redis.info(),
    redis.time(),
  ]);
  const { epoch, sequence } = readState(state);
  const [version, names, verified = null] = copies;
  const field = (name: string): string => new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1] ?? '';
  return {
    ...readRole(role),
    ...readList(version, names),
    epoch,
    sequence,
    verified,
    runId: field('run_id'),
    fullCopies: fullCopiesIn(info),
    isFileBehind: ['aof_enabled:1', 'aof_rewrite_in_progress:0', 'aof_rewrite_scheduled:0', 'loading:0'].some(
      (line) => !info.includes(`\n${line}\r\n`),
    ),
    timeMs: Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000),
  };
}

/** Returns the format of an engine that another release wrote; undefined without one. */
export async function foreignFormat(redis: Redis): Promise<string | undefined> {
  const [exists, format] = await Promise.all([redis.exists(KEYS.engine), redis.hget(KEYS.engine, 'format')]);
  return exists === 1 && format !== String(ENGINE_FORMAT) ? (format ?? '') : undefined;
}

/** The row of Postgres, as far as an order of a keeper depends on it. */
interface OrderedBy {
  readonly epoch: number;
  readonly version: number;
}

/**
 * Makes a server a replica of another one, or with null a primary. The server drops the order when it has a later
 * epoch or list than the keeper's row, also when it gets one between the look and the order: a keeper that slept turns
 * no server back. A server that becomes a replica ends the connections of its clients, which may have been told
 * something that it now forgets.
 * @returns false when the order was dropped
 */
export async function order(redis: Redis, row: OrderedBy, primary: HostPort | null): Promise<boolean> {
  await redis.watch(KEYS.engine, KEYS.copies);
  const [state, version] = await Promise.all([
    redis.hgetBuffer(KEYS.engine, 'state'),
    redis.hget(KEYS.copies, 'version'),
  ]);
  // The epoch after the noted one begins before its note.
  if (readState(state).epoch > row.epoch + 1 || Number(version ?? 0) > row.version) {
    await redis.unwatch();
    return false;
  }
  const transaction = redis.multi();
  if (primary === null) transaction.replicaof('NO', 'ONE');
  else {
    transaction.replicaof(primary.host, primary.port);
    transaction.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  }
  return (await transaction.exec()) !== null;
}

/** Notes that all that were copied whole up to now have what they acknowledge in their own files. */
export async function noteVerified(redis: Redis, { runId, fullCopies }: SeenServer): Promise<void> {
  await redis.hset(KEYS.copies, 'verified', `${runId} ${fullCopies}`);
}

/** Returns why a server may not be a copy; undefined if nothing speaks against it. */
export async function unfitness(redis: Redis): Promise<string | undefined> {
  const wrong = await wrongSettings(redis);
  return wrong === undefined ? 'it does not show its settings' : wrong.join('; ') || undefined;
}
