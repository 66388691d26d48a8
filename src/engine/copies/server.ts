/** One server of the list: what it tells of itself, and the orders of keepers. */

import type { ChainableCommander, Redis } from 'ioredis';
import type { HostPort } from '../../redis/address.ts';
import { KEYS, LEAVING_CHANNEL } from '../keys.ts';
import { OF_COPIES, wrongSettings } from '../server-settings.ts';
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
  const follows = `${host}:${port}`;
  const isConnected = state === 'connected';
  return { isPrimary: false, offset, follows, isConnected, replicas: new Map() };
}

/** Returns the run id that INFO has, which changes at each start of a server. */
export const runIdIn = (info: string): string => /^run_id:(\w+)/m.exec(info)?.[1] ?? '';

/** Returns the number of times that a primary has sent all its data to a replica, as INFO has it. */
export const fullCopiesIn = (stats: string): string => /^sync_full:(\d+)/m.exec(stats)?.[1] ?? '';

/** Returns the names of the replicas to which a primary is sending all its data, as INFO has it. */
export const copyingIn = (replication: string): string[] =>
  [...replication.matchAll(/^slave\d+:ip=([^,]+),port=(\d+),state=(\w+)/gm)]
    .filter(([, , , state]) => state !== 'online')
    .map(([, host, port]) => `${host}:${port}`);

export interface SeenServer extends ReplicationRole {
  /** The last epoch that opened; 0 without an engine. */
  readonly epoch: number;
  /** Run id under which that epoch runs. */
  readonly begunAs: string;
  readonly sequence: number;
  /** Version of the list that it has; 0 without one. */
  readonly version: number;
  readonly mark: string;
  readonly names: readonly string[];
  readonly verified: string | null;
  readonly runId: string;
  readonly fullCopies: string;
  /** True while what the server acknowledges may be missing from its file. */
  readonly isFileBehind: boolean;
  /** The reason why it may not be a copy; undefined where it may. */
  readonly unfit: string | undefined;
  /** Unix milliseconds by its clock. */
  readonly timeMs: number;
}

/** Asks a server what it is. Rejects when it does not answer in time. */
export async function lookAt(redis: Redis): Promise<SeenServer> {
  const [role, engine, copies, verified, info, wrong, [seconds, micros]] = await Promise.all([
    redis.role(),
    redis.hmgetBuffer(KEYS.engine, 'state', 'server'),
    redis.hmget(KEYS.copies, ...LIST_FIELDS),
    redis.hget(KEYS.rounds, 'verified'),
    redis.info(),
    wrongSettings(redis, OF_COPIES),
    redis.time(),
  ]);
  const { epoch, sequence } = readState(engine[0]!);
  return {
    ...readRole(role),
    ...readList(copies),
    epoch,
    begunAs: String(engine[1] ?? ''),
    sequence,
    verified,
    runId: runIdIn(info),
    fullCopies: fullCopiesIn(info),
    isFileBehind: ['aof_enabled:1', 'aof_rewrite_in_progress:0', 'aof_rewrite_scheduled:0', 'loading:0'].some(
      (line) => !info.includes(`\n${line}\r\n`),
    ),
    unfit: wrong === undefined ? 'it does not show its settings' : wrong.join('; ') || undefined,
    timeMs: Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000),
  };
}

/** Returns true for a server that was asked to stop, and waits until it is no copy any more. */
export async function isLeaving(redis: Redis): Promise<boolean> {
  const [, listeners] = (await redis.pubsub('NUMSUB', LEAVING_CHANNEL)) as [string, number];
  return Number(listeners) > 0;
}

/** Tells a server that is leaving to stop now. */
export async function letGo(redis: Redis): Promise<void> {
  await redis.publish(LEAVING_CHANNEL, 'go');
}

/** Returns the format of an engine that another release wrote; undefined without one. */
export async function foreignFormat(redis: Redis): Promise<string | undefined> {
  const [exists, format] = await Promise.all([redis.exists(KEYS.engine), redis.hget(KEYS.engine, 'format')]);
  return exists === 1 && format !== String(ENGINE_FORMAT) ? (format ?? '') : undefined;
}

/** The answer of a server to an order of a keeper. It drops the order unless it carries it out. */
type Obeyed =
  | 'carried out'
  /** It has a later epoch than the row of the keeper. */
  | 'knows more'
  /** It is no longer as the keeper saw it. */
  | 'changed';

/** The row of Postgres, as far as an order of a keeper depends on it. */
interface OrderedBy {
  readonly epoch: number;
}

/** A server as it was seen before the row was read: Postgres knew its list then. */
type SeenBefore = Pick<SeenServer, 'runId' | 'mark'>;

/**
 * Makes a server a replica of another one. It ends the connections of its clients, which may have been told something
 * that it now forgets.
 * @param seen the server before the row was read
 */
export function follow(redis: Redis, row: OrderedBy, seen: SeenBefore, primary: HostPort): Promise<Obeyed> {
  return order(redis, row, seen, (transaction) =>
    transaction
      .replicaof(primary.host, primary.port)
      .call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
  );
}

/**
 * Makes a replica a primary.
 * @param seen the server as it was found fit to lead: one that has less by now drops the order
 */
export function promote(redis: Redis, row: OrderedBy, seen: SeenServer): Promise<Obeyed> {
  return order(redis, row, seen, (transaction) => transaction.replicaof('NO', 'ONE'), seen);
}

/**
 * Gives a server an order. The server drops it when it has a later epoch than the keeper's row or another list than the
 * keeper saw, also when it gets one between the look and the order: a keeper that slept turns no server back. Nor does
 * it turn one that lost its memory: the run and the list of the server were seen before the row was read, so the row
 * knows what the run before had, and Postgres knows the list.
 * @param least what the server must have
 */
async function order(
  redis: Redis,
  row: OrderedBy,
  seen: SeenBefore,
  add: (transaction: ChainableCommander) => ChainableCommander,
  least?: SeenServer,
): Promise<Obeyed> {
  // One packet, so that all of it is of one connection, and of one run of the server.
  const looking = redis.pipeline().watch(KEYS.copies).hgetBuffer(KEYS.engine, 'state');
  const looks = await looking.hget(KEYS.copies, 'mark').info('server').role().exec();
  const [, state, mark, info, role] = looks!.map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
  const now = { ...readState(state as Buffer | null), runId: runIdIn(info as string) };
  const knowsMore = now.epoch > row.epoch;
  const hasLess = least !== undefined && (compareHistory(now, least) < 0 || readRole(role).isPrimary);
  const isAnother = now.runId !== seen.runId || (mark ?? '') !== seen.mark || hasLess;
  if (knowsMore || isAnother) {
    await redis.unwatch();
    return knowsMore ? 'knows more' : 'changed';
  }
  return (await add(redis.multi()).exec()) === null ? 'changed' : 'carried out';
}

/** Returns more than 0 where the one has more than the other, and less where it has less. */
export const compareHistory = (
  one: Pick<SeenServer, 'epoch' | 'sequence'>,
  other: Pick<SeenServer, 'epoch' | 'sequence'>,
): number => one.epoch - other.epoch || one.sequence - other.sequence;

/** Notes that all that were copied whole up to now have what they acknowledge in their own files. */
export async function noteVerified(redis: Redis, { runId, fullCopies }: SeenServer): Promise<void> {
  await redis.hset(KEYS.rounds, 'verified', `${runId} ${fullCopies}`);
}
