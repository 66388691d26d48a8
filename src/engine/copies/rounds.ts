/**
 * Tells when every copy has on its disk what the primary had executed at a moment. A round reads the state of the engine
 * and the list of its copies, writes something small, waits for the copies, and compares what each named one has. It
 * covers all replies that came before it began.
 *
 * WAIT counts copies and does not name them, so the names and offsets come from ROLE. After a read alone, newer servers
 * answer WAIT at once with the copies of the last write, so a round writes.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Refusal } from '../../domain/errors.ts';
import { type HostPort, serverName } from '../../redis/address.ts';
import { endpointOf } from '../../redis/found-server.ts';
import { KEYS } from '../keys.ts';
import { readState } from '../state.ts';
import { type CopyList, LIST_FIELDS, readList } from './list.ts';
import { copyingIn, fullCopiesIn, type ReplicationRole, readRole, runIdIn } from './server.ts';

/** Together with a round under way and the command itself, it stays below the time within which clients get an answer. */
const ROUND_MS = 700;
/** Pause between looks at copies that lack something, while a server that is no copy has it already. */
const LOOK_AGAIN_MS = 20;

/** A connection for rounds follows that of the engine within some milliseconds. */
const FOLLOWS_WITHIN_MS = 1_000;

/** The engine that answered a process, and the last event that the process knows. */
export interface Position {
  readonly epoch: number;
  readonly runId: string;
  /** Sequence of the last event that it knows. */
  readonly sequence: number;
}

/** A whole round. */
export interface Round extends Position {
  readonly list: CopyList;
}

interface Waiter {
  readonly connection: number;
  resolve(round: Round): void;
  reject(error: unknown): void;
}

/** Progress of the copies, as their primary reports it. */
interface Acknowledged {
  /** Number of copies that have it on their disks. */
  readonly acknowledged: number;
  readonly role: ReplicationRole;
  /** Number of times that the primary was copied whole. */
  readonly fullCopies: number;
  /** Names of the servers that are being copied to as a whole. */
  readonly copying: readonly string[];
  /** The last note of a keeper that all listed copies have in their files what was copied whole. */
  readonly verified: string | null;
}

interface RoundsOptions {
  /** A connection for rounds alone, because WAIT blocks it. */
  readonly redis: Redis;
  /** Least number of copies, the primary included. */
  readonly minCopies: number;
  /** Called with the duration of each round, and whether it was whole. */
  readonly observe?: (seconds: number, isWhole: boolean) => void;
}

export class CopyRounds {
  readonly #redis: Redis;
  readonly #minCopies: number;
  readonly #observe: (seconds: number, isWhole: boolean) => void;
  /** Number of the connection. A primary that becomes a replica ends all connections. */
  #connection = 0;
  #runId: string | undefined;
  #waitsForDisks = false;
  #waiting: Waiter[] = [];
  #isBusy = false;
  /** Number of rounds that began. */
  #rounds = 0;
  /** Number of copies that the last list named besides the primary. */
  #others = 1;
  #trouble: string | undefined = 'no round was whole yet';
  /** The last look at whole copies. Up to `harmless` of them, each was noted by a keeper or is of a server off the list. */
  #wholeCopies: { readonly harmless: number; readonly count: number; readonly copying: readonly string[] } = {
    harmless: -1,
    count: 0,
    copying: [],
  };

  constructor({ redis, minCopies, observe = () => undefined }: RoundsOptions) {
    this.#redis = redis;
    this.#minCopies = minCopies;
    this.#observe = observe;
    redis.on('close', () => {
      this.#connection += 1;
      this.#runId = undefined;
      this.#wholeCopies = { harmless: -1, count: 0, copying: [] };
    });
    redis.on('ready', () => void this.#identify().catch(() => redis.disconnect(true)));
    if (redis.status === 'ready') void this.#identify().catch(() => redis.disconnect(true));
  }

  /** Returns why the last round was not whole, or that none was yet; undefined after one that was. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /**
   * Waits until rounds can be asked of a server.
   * @throws Refusal SERVICE_UNAVAILABLE when they cannot be in time
   */
  async follow(server: HostPort): Promise<void> {
    const untilMs = performance.now() + FOLLOWS_WITHIN_MS;
    for (;;) {
      const endpoint = endpointOf(this.#redis);
      const isThere = this.#runId !== undefined && this.#redis.status === 'ready' && endpoint !== undefined;
      if (isThere && serverName(endpoint) === serverName(server)) return;
      // It still leads to the server before.
      if (isThere) this.#redis.disconnect(true);
      if (performance.now() > untilMs) throw unasked();
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /**
   * Notes that a command is about to be sent.
   * @param runId of the server that it is sent to
   * @returns the number of the connection, for `cover`
   * @throws Refusal SERVICE_UNAVAILABLE while no round could cover it; nothing was sent
   */
  begin(runId: string): number {
    if (this.#runId === runId && this.#redis.status === 'ready') return this.#connection;
    // The other connection may have moved on to another server.
    if (this.#runId !== undefined) this.#redis.disconnect(true);
    this.#runId = undefined;
    throw unasked();
  }

  /**
   * Resolves once every copy has what the server had executed before this call.
   * @throws Refusal SERVICE_UNAVAILABLE when the copies do not confirm it in time: the outcome is unknown
   */
  async cover(connection: number, { epoch, runId, sequence }: Position): Promise<void> {
    const round = await this.#next(connection);
    if (round.runId !== runId || round.epoch !== epoch || round.sequence < sequence)
      throw unknown('the engine was replaced meanwhile');
  }

  /** Runs a round that begins after this call. @throws Refusal SERVICE_UNAVAILABLE when it is not whole */
  prove(): Promise<Round> {
    return this.#next(this.#connection);
  }

  #next(connection: number): Promise<Round> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ connection, resolve, reject });
      if (this.#isBusy) return;
      this.#isBusy = true;
      // Everything that came in this turn shares the round.
      setImmediate(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      const connection = this.#connection;
      const begun = performance.now();
      try {
        const round = await this.#round(begun + ROUND_MS);
        this.#trouble = undefined;
        for (const one of waiting)
          if (one.connection === connection) one.resolve(round);
          else one.reject(unknown('the connection broke'));
      } catch (error) {
        this.#trouble = error instanceof Error ? error.message : String(error);
        for (const { reject } of waiting) reject(error);
      }
      this.#observe((performance.now() - begun) / 1000, this.#trouble === undefined);
    }
    this.#isBusy = false;
  }

  async #identify(): Promise<void> {
    const connection = this.#connection;
    const info = await this.#redis.info('server');
    if (connection !== this.#connection) return;
    this.#runId = runIdIn(info);
    const [, major, minor] = /^redis_version:(\d+)\.(\d+)/m.exec(info) ?? [];
    this.#waitsForDisks = Number(major) > 7 || (Number(major) === 7 && Number(minor) >= 2);
  }

  async #round(untilMs: number): Promise<Round> {
    const redis = this.#redis;
    const runId = this.#runId;
    const endpoint = endpointOf(this.#redis);
    if (runId === undefined || endpoint === undefined) throw unknown('their primary is away');
    this.#rounds += 1;
    // The state is read before the write, so what it shows lies before the first offset.
    const first = redis.pipeline();
    first.hgetBuffer(KEYS.engine, 'state').hmget(KEYS.copies, ...LIST_FIELDS);
    first.role().hset(KEYS.rounds, 'round', this.#rounds);
    const [replies, seen] = await Promise.all([
      repliesOf(first.exec()),
      this.#wait(this.#others, untilMs - performance.now()),
    ]);
    const list = readList(replies[1] as (string | null)[]);
    const { offset } = readRole(replies[2]);
    const own = serverName(endpoint);
    if (!list.names.includes(own)) throw unknown(`${own} has no list that names it`);
    if (list.names.length < this.#minCopies) throw unknown(`there are only ${list.names.length}`);
    const others = list.names.filter((name) => name !== own);
    this.#others = others.length;
    let now = seen;
    for (;;) {
      const lacking = others.filter((name) => (now.role.replicas.get(name) ?? -1) < offset);
      const isVerified = this.#areVerified(now, runId, list);
      if (lacking.length === 0 && now.acknowledged >= others.length && isVerified) break;
      const leftMs = untilMs - performance.now();
      if (leftMs < 1)
        throw unknown(isVerified ? `${lacking.join(', ')} does not confirm` : 'one was just copied whole');
      now = await this.#wait(now.role.replicas.size + 1, Math.min(LOOK_AGAIN_MS, leftMs));
    }
    return { ...readState(replies[0] as Buffer | null), runId, list };
  }

  /**
   * A server that was copied whole acknowledges before its own file has anything, so a keeper verifies it. No note is
   * needed where as many copies have begun as servers off the list are seen to be copied to since the last look.
   */
  #areVerified(
    { fullCopies: count, copying, verified }: Acknowledged,
    runId: string,
    list: CopyList,
  ): boolean {
    const before = this.#wholeCopies;
    const begun = copying.filter((name) => !before.copying.includes(name) && !list.names.includes(name));
    const [noted, upTo] = verified?.split(' ') ?? [];
    let harmless = noted === runId ? Math.max(before.harmless, Number(upTo)) : before.harmless;
    if (harmless === before.count && count - before.count === begun.length) harmless = count;
    this.#wholeCopies = { harmless, count, copying };
    return harmless >= count;
  }

  /** Waits for a number of copies, and looks at all of them. */
  async #wait(count: number, maxMs: number): Promise<Acknowledged> {
    const waitMs = Math.max(1, Math.floor(maxMs));
    const asksDisks = this.#waitsForDisks;
    const pipeline = this.#redis.pipeline().wait(count, waitMs);
    // A copy that reads a write together with the question tells of its disk as it was before. After WAIT it tells anew;
    // WAITAOF alone would wait for a second.
    if (asksDisks) pipeline.call('WAITAOF', 1, count, LOOK_AGAIN_MS);
    // The note is read last: what was acknowledged before it is in files that were verified then or earlier.
    pipeline.role().call('INFO', 'stats', 'replication');
    const asked = pipeline.hget(KEYS.rounds, 'verified').exec();
    const replies = await repliesOf(asked).catch((error) => {
      if (!asksDisks || !/NOPERM|unknown command/.test(String(error.cause))) throw error;
      return undefined;
    });
    if (replies === undefined) {
      // Its user may lack the right. The engine's settings flush a copy's file before it acknowledges in any case.
      this.#waitsForDisks = false;
      return this.#wait(count, maxMs);
    }
    const [onDisks] = asksDisks ? (replies.splice(1, 1) as [[own: number, copies: number]]) : [];
    const [waited, role, info, verified] = replies as [number, unknown, string, string | null];
    const found = {
      acknowledged: onDisks === undefined ? waited : onDisks[0] === 1 ? onDisks[1] : -1,
      role: readRole(role),
      fullCopies: Number(fullCopiesIn(info)),
      copying: copyingIn(info),
      verified,
    };
    if (!found.role.isPrimary) throw unknown('this server is no primary');
    return found;
  }
}

async function repliesOf(asked: Promise<[Error | null, unknown][] | null>): Promise<unknown[]> {
  const replies = await asked.catch((cause) => {
    throw unknown('their primary is away', cause);
  });
  return (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw unknown('their primary does not answer', error);
    return reply;
  });
}

const unasked = (): Refusal =>
  new Refusal(
    'SERVICE_UNAVAILABLE',
    'the copies of the matching engine cannot be asked, and nothing was done: try again',
  );

const unknown = (why: string, cause?: unknown): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', `the copies of the matching engine do not confirm it: ${why}`, {
    cause,
  });
