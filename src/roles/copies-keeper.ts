/**
 * Keeps the engine's copies: names another primary when the present one is silent, makes the servers do what the row of
 * Postgres says, and lets copies leave and join. Any number of keepers may run, also slowly: each change of the row
 * names the version that it changes, and a server drops orders of an older row.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import {
  type CopyRounds,
  giveList,
  lookAt,
  noteVerified,
  order,
  type SeenServer,
  unfitness,
} from '../engine/index.ts';
import type { CopiesRow, CopyRegister } from '../ledger/index.ts';
import { type HostPort, readRedisAddress, serverName } from '../redis/address.ts';
import { connectServer } from '../redis/connections.ts';
import { type Backends, engineAt } from './backends.ts';
import { listOf } from './engine-copies.ts';

const TICK_MS = 200;
/** A pause after which this process knows nothing of the silence of others. */
const SLEPT_MS = 2_000;
/** Clocks further apart would let event time stand still after a failover. */
const MAX_SKEW_MS = 1_000;
const TOLD_EVERY_MS = 60_000;

interface KeeperOptions {
  readonly servers: readonly HostPort[];
  /** Makes a connection to one server of the list. */
  readonly connect: (server: HostPort) => Redis;
  readonly register: CopyRegister;
  readonly rounds: Pick<CopyRounds, 'prove'>;
  readonly minCopies: number;
  readonly downAfterMs: number;
  readonly copyLateMs: number;
  readonly logger: Logger;
}

interface Server {
  readonly name: string;
  readonly endpoint: HostPort;
  readonly redis: Redis;
  /** Last time at which it was seen with its data; milliseconds of this process. */
  heardAt: number;
  /** Last time at which it had what the primary had at the look before. */
  inStepAt: number;
  seen: SeenServer | undefined;
  /** The reason why it was not seen. */
  trouble: string | undefined;
  /** Milliseconds by which its clock is ahead of this process. */
  aheadMs: number;
}

export class CopiesKeeper {
  readonly #options: KeeperOptions;
  readonly #servers: readonly Server[];
  readonly #told = new Map<string, number>();
  #lastTickAt = 0;
  /** Offset of the primary at the look before. */
  #before: { readonly runId: string; readonly offset: number } | undefined;
  #row: CopiesRow | undefined;
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#servers = options.servers.map((endpoint) => {
      const redis = options.connect(endpoint);
      const unseen = { heardAt: 0, inStepAt: 0, seen: undefined, trouble: undefined, aheadMs: 0 };
      const server: Server = { name: serverName(endpoint), endpoint, redis, ...unseen };
      redis.on('error', ({ message }: Error) => {
        server.trouble = message;
      });
      return server;
    });
    this.#running = this.#run();
  }

  /** The row as of the last look; undefined before the first. */
  get row(): CopiesRow | undefined {
    return this.#row;
  }

  /** Number of servers that REDIS_URL names. */
  get size(): number {
    return this.#servers.length;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    for (const { redis } of this.#servers) redis.disconnect();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      // Whatever failed is tried again: every order and change may be repeated.
      await this.#tick().catch((error: unknown) => this.#options.logger.debug({ err: error }, 'copies'));
      await sleep(TICK_MS);
    }
  }

  async #tick(): Promise<void> {
    const row = await this.#options.register.read();
    await this.#look(row);
    this.#tellSilent();
    this.#row = row;
    if (row === undefined) return this.#begin();
    const primary = this.#named(row.server);
    if (primary === undefined)
      return this.#tell('the named primary of the engine is not in REDIS_URL', { server: row.server });
    if (performance.now() - primary.heardAt > this.#options.downAfterMs) return this.#nameAnother(row);
    const { seen } = primary;
    if (seen === undefined || hasLostItsData(primary, row)) return;
    if (!seen.isPrimary) return void (await order(primary.redis, row, null));
    if (seen.version < row.version) return giveList(primary.redis, listOf(row));
    if (seen.version > row.version) return;
    await this.#lead(row, primary);
    await this.#verify(row, seen);
    await this.#changeList(row, primary, seen);
  }

  #named(name: string): Server | undefined {
    return this.#servers.find((server) => server.name === name);
  }

  async #look(row: CopiesRow | undefined): Promise<void> {
    const begun = performance.now();
    const hasSlept = begun - this.#lastTickAt > SLEPT_MS;
    await Promise.all(
      this.#servers.map(async (server) => {
        server.seen = await lookAt(server.redis).catch(({ message }: Error) => {
          server.trouble ??= message;
          return undefined;
        });
        if (server.seen !== undefined) server.trouble = undefined;
        const now = performance.now();
        const isHeard = server.seen !== undefined && !hasLostItsData(server, row);
        if (isHeard || hasSlept) server.heardAt = now;
        if (hasSlept) server.inStepAt = now;
        if (server.seen !== undefined) server.aheadMs = server.seen.timeMs - Date.now();
      }),
    );
    this.#lastTickAt = performance.now();
  }

  /** Names the first primary: the server that has the engine, or the first one of an engine that begins now. */
  async #begin(): Promise<void> {
    // The first start waits for all of them.
    if (this.#servers.some(({ seen }) => seen === undefined)) return;
    const owners = this.#servers.filter(({ seen }) => seen!.epoch > 0);
    const primaries = owners.filter(({ seen }) => seen!.isPrimary);
    if (primaries.length > 1)
      return this.#tell('REDIS_URL names two engines as copies of one', {
        servers: primaries.map(({ name }) => name),
      });
    const first = primaries[0] ?? owners[0] ?? this.#servers[0]!;
    await this.#options.register.begin(first.name);
  }

  async #nameAnother(row: CopiesRow): Promise<void> {
    const [best] = this.#servers
      .filter(({ name, seen }) => name !== row.server && row.members.includes(name) && seen !== undefined)
      .filter(({ seen }) => seen!.epoch > 0 || row.epoch === 0)
      .sort((one, other) => compareHistory(other.seen!, one.seen!));
    if (best === undefined)
      return this.#tell('the primary of the engine is silent, and no copy of it answers', {
        server: row.server,
      });
    const named = await this.#options.register.name(row, best.name);
    if (named === undefined) return;
    // The next one has as long to answer as this one had.
    best.heardAt = performance.now();
    this.#options.logger.warn(
      { server: best.name, silent: row.server, version: named.version },
      'another primary of the engine is named',
    );
  }

  /** Makes all other servers follow the primary, which is one by now and has its list. */
  async #lead(row: CopiesRow, { name: leader, endpoint }: Server): Promise<void> {
    for (const { name, redis, seen } of this.#servers) {
      if (name === leader || seen === undefined) continue;
      if (!seen.isPrimary && seen.follows === leader) continue;
      const isKnown = seen.version > 0 || seen.epoch === 0 || listOf(row).names.includes(name);
      if (isKnown) await order(redis, row, endpoint).catch(() => undefined);
      else
        this.#tell('a server of REDIS_URL has an engine that was never a copy: empty it first', {
          server: name,
        });
    }
  }

  /** Notes that every listed copy has in its own file what was copied to it whole. */
  async #verify(row: CopiesRow, primary: SeenServer): Promise<void> {
    if (primary.verified === `${primary.runId} ${primary.fullCopies}`) return;
    // The copies are looked at after the primary has told how often it was copied.
    const copies = this.#servers.filter(
      ({ name }) => name !== row.server && listOf(row).names.includes(name),
    );
    const seen = await Promise.all(copies.map(({ redis }) => lookAt(redis)));
    const areBehind = seen.some(
      (copy) => copy.isFileBehind || copy.follows !== row.server || !copy.isConnected,
    );
    if (!areBehind && seen.length === listOf(row).names.length - 1)
      await noteVerified(this.#named(row.server)!.redis, primary);
  }

  async #changeList(row: CopiesRow, { name: leader, aheadMs }: Server, primary: SeenServer): Promise<void> {
    const before = this.#before;
    this.#before = { runId: primary.runId, offset: primary.offset };
    if (before?.runId !== primary.runId) return;
    const now = performance.now();
    const others = this.#servers.filter(({ name }) => name !== leader);
    for (const server of others)
      if ((primary.replicas.get(server.name) ?? -1) >= before.offset) server.inStepAt = now;
    if (await this.#letLeave(row, others, now)) return;
    if (row.joining.length > 0) return this.#letJoin(row);
    const fresh = others.find(
      ({ name, inStepAt }) => inStepAt === now && before.offset > 0 && !row.members.includes(name),
    );
    if (fresh === undefined) return;
    const skewMs = Math.abs(fresh.aheadMs - aheadMs);
    const unfit =
      (await unfitness(fresh.redis)) ??
      (skewMs > MAX_SKEW_MS ? `its clock is ${Math.round(skewMs)} ms from that of the primary` : undefined);
    if (unfit !== undefined)
      return this.#tell('a server may not be a copy', { server: fresh.name, why: unfit });
    await this.#changed(row, 'joining', fresh.name, this.#options.register.startJoining(row, fresh.name));
  }

  async #letLeave(row: CopiesRow, others: readonly Server[], now: number): Promise<boolean> {
    const { copyLateMs, minCopies, register } = this.#options;
    const late = others.find(
      ({ name, inStepAt }) => row.members.includes(name) && now - inStepAt > copyLateMs,
    );
    if (late === undefined || row.members.length <= minCopies) return false;
    await this.#changed(row, 'left', late.name, register.leave(row, late.name));
    return true;
  }

  /** The joining copy becomes a member after a whole round that waited for it, once its own file has everything. */
  async #letJoin(row: CopiesRow): Promise<void> {
    const { register, rounds, copyLateMs } = this.#options;
    const [name] = row.joining;
    const round = await rounds.prove().catch(() => undefined);
    const isProved =
      round !== undefined &&
      round.epoch === row.epoch &&
      round.runId === this.#before?.runId &&
      round.list.version === row.version;
    // No note covers a whole copy from before the server was listed. A later one changes the note that rounds ask for.
    if (isProved && !(await lookAt(this.#named(name!)!.redis)).isFileBehind)
      return this.#changed(row, 'joined', name!, register.join(row, name!));
    const inStepAt = this.#named(name!)?.inStepAt ?? 0;
    if (performance.now() - inStepAt > copyLateMs)
      await this.#changed(row, 'left', name!, register.leave(row, name!));
  }

  async #changed(
    row: CopiesRow,
    what: string,
    server: string,
    change: Promise<CopiesRow | undefined>,
  ): Promise<void> {
    const changed = await change;
    if (changed === undefined) return;
    this.#options.logger.info(
      { server, version: changed.version, members: changed.members },
      `a copy ${what}`,
    );
    await giveList(this.#named(row.server)!.redis, listOf(changed));
  }

  #tellSilent(): void {
    for (const { name, seen, heardAt, trouble } of this.#servers)
      if (seen === undefined && performance.now() - heardAt > this.#options.downAfterMs)
        this.#tell(`${name} of REDIS_URL does not answer as a Redis of the engine`, { why: trouble });
  }

  #tell(message: string, fields: object): void {
    const now = performance.now();
    if (now - (this.#told.get(message) ?? Number.NEGATIVE_INFINITY) < TOLD_EVERY_MS) return;
    this.#told.set(message, now);
    this.#options.logger.error(fields, message);
  }
}

/** The last epoch began on this server, and it does not have it: its disk is another one, or an older one. */
const hasLostItsData = ({ name, seen }: Server, row: CopiesRow | undefined): boolean =>
  row !== undefined && seen !== undefined && row.begunOn === name && seen.epoch < row.epoch;

const compareHistory = (one: SeenServer, other: SeenServer): number =>
  one.epoch - other.epoch || one.sequence - other.sequence;

/** Starts a keeper where the engine has copies. */
export function keepCopies({ config, copies, ledger, logger }: Backends): CopiesKeeper | undefined {
  if (copies === undefined) return undefined;
  const at = engineAt(config);
  return new CopiesKeeper({
    servers: readRedisAddress(at.url)!.endpoints,
    connect: (server) => connectServer(at, server, 'settlement-keeper'),
    register: ledger.copies,
    rounds: copies.rounds,
    minCopies: config.engineMinCopies,
    downAfterMs: config.engineDownAfterMs,
    copyLateMs: config.engineCopyLateMs,
    logger,
  });
}
