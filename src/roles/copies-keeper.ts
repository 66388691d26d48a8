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
  compareHistory,
  follow,
  giveList,
  isLeaving,
  letGo,
  lookAt,
  noteVerified,
  promote,
  type SeenServer,
} from '../engine/index.ts';
import { type CopiesRow, type CopyRegister, isAheadOf, type ReadCopiesRow } from '../ledger/index.ts';
import { type HostPort, readRedisAddress, serverName } from '../redis/address.ts';
import { connectServer } from '../redis/connections.ts';
import { type Backends, engineAt } from './backends.ts';
import { listOf } from './engine-copies.ts';
import { isInStep, whyNotLead } from './leading.ts';

const LOOK_EVERY_MS = 200;
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
  /** Last time at which it was seen; milliseconds of this process. */
  heardAt: number;
  /** Last time at which it had what the primary had at the look before. */
  inStepAt: number;
  inStepAs: string | undefined;
  seen: SeenServer | undefined;
  isSilent: boolean;
  isLeaving: boolean;
  /** The reason why it was not seen. */
  trouble: string | undefined;
  /** Milliseconds by which its clock is ahead of this process. */
  aheadMs: number;
}

export class CopiesKeeper {
  readonly #options: KeeperOptions;
  readonly #servers: readonly Server[];
  readonly #told = new Map<string, number>();
  #lastLookAt = 0;
  /** Offset of the primary at the look before. */
  #before: { readonly runId: string; readonly offset: number } | undefined;
  #row: CopiesRow | undefined;
  #isBlocked = false;
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#servers = options.servers.map((endpoint) => {
      const redis = options.connect(endpoint);
      const server: Server = {
        name: serverName(endpoint),
        endpoint,
        redis,
        heardAt: 0,
        inStepAt: 0,
        inStepAs: undefined,
        seen: undefined,
        isSilent: false,
        isLeaving: false,
        trouble: undefined,
        aheadMs: 0,
      };
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

  /** True while it does nothing, because Postgres is older than the servers. */
  get isBlocked(): boolean {
    return this.#isBlocked;
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
      await this.#keep().catch((error: unknown) => this.#options.logger.debug({ err: error }, 'copies'));
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #keep(): Promise<void> {
    // The row is read after the look, so it is never older than what is seen, unless Postgres was put back.
    await this.#look();
    const row = await this.#options.register.read(this.#servers.flatMap(({ seen }) => seen ?? []));
    this.#tellSilent();
    this.#row = row;
    if (row === undefined) return this.#begin();
    this.#isBlocked = this.#isOlder(row);
    if (this.#isBlocked) return;
    await this.#letGo(row);
    const primary = this.#named(row.server);
    if (primary === undefined)
      return this.#tell('the named primary of the engine is not in REDIS_URL', { server: row.server });
    const why = this.#whyNotLead(row, primary);
    if (why !== undefined && !(await this.#staysWithout(row, primary, why))) return;
    const seen = primary.seen!;
    if (row.runId !== seen.runId) return this.#name(row, primary, seen);
    if (!seen.isPrimary) return this.#obeyed(row.server, await promote(primary.redis, row, seen));
    if (seen.version < row.version) return giveList(primary.redis, listOf(row));
    // Others follow it, and copies change, only once it runs in the epoch of the row.
    if (seen.epoch !== row.epoch || seen.begunAs !== seen.runId) return;
    await this.#lead(row, primary);
    await this.#verify(row, seen);
    await this.#changeList(row, primary, seen);
  }

  #named(name: string): Server | undefined {
    return this.#servers.find((server) => server.name === name);
  }

  #whyNotLead(row: CopiesRow, server: Server): string | undefined {
    return whyNotLead(row, server, this.#servers, this.#options.minCopies);
  }

  async #look(): Promise<void> {
    const begun = performance.now();
    const hasSlept = begun - this.#lastLookAt > SLEPT_MS;
    await Promise.all(
      this.#servers.map(async (server) => {
        const looked = Promise.all([lookAt(server.redis), isLeaving(server.redis)]);
        const [seen, leaves = false] = await looked.catch(({ message }: Error) => {
          server.trouble ??= message;
          return [];
        });
        server.seen = seen;
        server.isLeaving = leaves;
        if (server.seen !== undefined) server.trouble = undefined;
        const now = performance.now();
        if (server.seen !== undefined || hasSlept) server.heardAt = now;
        if (hasSlept) server.inStepAt = now;
        if (server.seen !== undefined) server.aheadMs = server.seen.timeMs - Date.now();
        server.isSilent = now - server.heardAt > this.#options.downAfterMs;
      }),
    );
    this.#lastLookAt = performance.now();
  }

  /** Returns true where a server has a list or an epoch that Postgres lacks, which was put back to an earlier moment. */
  #isOlder(row: ReadCopiesRow): boolean {
    const later = this.#servers.filter(({ seen }) => seen !== undefined && isAheadOf(row, seen));
    if (later.length === 0) return false;
    this.#tell("Postgres is older than the engine's copies, and keepers do nothing: run 'copies adopt'", {
      servers: later.map(({ name, seen }) => `${name} has list ${seen!.version} and epoch ${seen!.epoch}`),
      row: `list ${row.version} and epoch ${row.epoch}`,
    });
    return true;
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
    await this.#options.register.begin(first.name, first.seen!.epoch);
  }

  /**
   * Names another primary, if one may lead.
   * @param why the named server may not lead
   * @returns true for a primary with wrong settings in whose place no other one may lead
   */
  async #staysWithout(row: CopiesRow, named: Server, why: string): Promise<boolean> {
    if (named.seen === undefined && !named.isSilent) return false;
    const [best] = this.#servers
      .filter((server) => server !== named && this.#whyNotLead(row, server) === undefined)
      .sort(
        ({ seen: one }, { seen: other }) =>
          Number(one!.isFileBehind) - Number(other!.isFileBehind) || compareHistory(other!, one!),
      );
    if (best !== undefined) {
      await this.#name(row, best, best.seen!, why);
      return false;
    }
    if (this.#servers.some(({ seen, isSilent }) => seen === undefined && !isSilent)) return false;
    const others = this.#servers.filter((server) => server !== named);
    this.#tell('the primary of the engine cannot lead, and no other copy can take its place', {
      server: row.server,
      why,
      others: others.map((server) => `${server.name}: ${this.#whyNotLead(row, server)}`),
    });
    return isInStep(row, named);
  }

  async #name(row: CopiesRow, { name }: Server, { runId }: SeenServer, why?: string): Promise<void> {
    const named = await this.#options.register.name(row, name, runId);
    if (named === undefined || why === undefined) return;
    this.#options.logger.warn(
      { server: name, before: row.server, why, version: named.version },
      'another primary of the engine is named',
    );
  }

  /** Makes all other servers follow the primary, which is one by now and has its list. */
  async #lead(row: CopiesRow, { name: leader, endpoint }: Server): Promise<void> {
    for (const { name, redis, seen } of this.#servers) {
      if (name === leader || seen === undefined) continue;
      if (!seen.isPrimary && seen.follows === leader) continue;
      const isKnown = seen.version > 0 || seen.epoch === 0 || listOf(row).names.includes(name);
      if (isKnown) this.#obeyed(name, await follow(redis, row, seen, endpoint).catch(() => undefined));
      else
        this.#tell('a server of REDIS_URL has an engine that was never a copy: empty it first', {
          server: name,
        });
    }
  }

  /** Lets servers stop that are neither the primary nor copies any more. */
  async #letGo(row: CopiesRow): Promise<void> {
    const counts = [row.server, ...listOf(row).names];
    for (const { name, redis, isLeaving } of this.#servers)
      if (isLeaving && !counts.includes(name)) await letGo(redis).catch(() => undefined);
  }

  /** Notes that every listed copy has in its own file what was copied to it whole. */
  async #verify(row: CopiesRow, primary: SeenServer): Promise<void> {
    if (primary.verified === `${primary.runId} ${primary.fullCopies}`) return;
    if (primary.isFileBehind) return;
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

  async #changeList(row: CopiesRow, leader: Server, primary: SeenServer): Promise<void> {
    const before = this.#before;
    this.#before = { runId: primary.runId, offset: primary.offset };
    leader.inStepAs = primary.runId;
    if (before?.runId !== primary.runId) return;
    const now = performance.now();
    const others = this.#servers.filter((server) => server !== leader);
    for (const server of others)
      if ((primary.replicas.get(server.name) ?? -1) >= before.offset) {
        server.inStepAt = now;
        server.inStepAs = server.seen?.runId ?? server.inStepAs;
      }
    if (await this.#letLeave(row, others, now)) return;
    if (row.joining.length > 0) return this.#letJoin(row);
    const isInStepNow = ({ inStepAt }: Server): boolean => inStepAt === now && before.offset > 0;
    for (const server of others.filter(isInStepNow)) {
      const { name, seen, isLeaving, aheadMs } = server;
      if (row.members.includes(name) || isLeaving || seen === undefined) continue;
      const skewMs = Math.abs(aheadMs - leader.aheadMs);
      const why =
        seen.unfit ??
        (skewMs > MAX_SKEW_MS ? `its clock is ${Math.round(skewMs)} ms from that of the primary` : undefined);
      if (why === undefined) return this.#admit(row, name, seen);
      this.#tell('a server may not be a copy', { server: name, why });
    }
  }

  /** A server in step joins. While there are too few for an answer, it lacks nothing that was ever answered. */
  async #admit(row: CopiesRow, name: string, { isFileBehind }: SeenServer): Promise<void> {
    const { minCopies, register } = this.#options;
    if (row.members.length >= minCopies)
      await this.#changed(row, 'joining', name, register.startJoining(row, name));
    else if (!isFileBehind) await this.#changed(row, 'joined', name, register.admit(row, name, minCopies));
  }

  async #letLeave(row: CopiesRow, others: readonly Server[], now: number): Promise<boolean> {
    const { copyLateMs, minCopies, register } = this.#options;
    const members = others.filter(({ name }) => row.members.includes(name));
    const unfit = members.find(({ seen }) => seen?.unfit !== undefined);
    if (unfit !== undefined) this.#tell(`the copy ${unfit.name} is set wrongly`, { why: unfit.seen!.unfit });
    const late = unfit ?? members.find(({ inStepAt, isLeaving }) => isLeaving || now - inStepAt > copyLateMs);
    // A late copy stays while too few would remain, and orders wait for it. An unfit one confirms orders that it may lose.
    if (late === undefined || (unfit === undefined && row.members.length <= minCopies)) return false;
    await this.#changed(row, 'left', late.name, register.leave(row, late.name, minCopies));
    return true;
  }

  /** The joining copy becomes a member after a whole round that waited for it, once its own file has everything. */
  async #letJoin(row: CopiesRow): Promise<void> {
    const { register, rounds, copyLateMs, minCopies } = this.#options;
    const [name] = row.joining;
    const round = await rounds.prove().catch(() => undefined);
    const isProved =
      round !== undefined &&
      round.epoch === row.epoch &&
      round.runId === this.#before?.runId &&
      round.list.mark === row.mark;
    // No note covers a whole copy from before the server was listed. A later one changes the note that rounds ask for.
    if (isProved && !(await lookAt(this.#named(name!)!.redis)).isFileBehind)
      return this.#changed(row, 'joined', name!, register.join(row, name!));
    const { inStepAt = 0, isLeaving } = this.#named(name!) ?? {};
    if (isLeaving || performance.now() - inStepAt > copyLateMs)
      await this.#changed(row, 'left', name!, register.leave(row, name!, minCopies));
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

  /** @param obeyed undefined where the server did not answer */
  #obeyed(server: string, obeyed: Awaited<ReturnType<typeof follow>> | undefined): void {
    if (obeyed === 'knows more')
      this.#tell(`${server} drops an order: it knows a later epoch than Postgres`, {});
  }

  #tellSilent(): void {
    for (const { name, seen, isSilent, trouble } of this.#servers)
      if (seen === undefined && isSilent)
        this.#tell(`${name} of REDIS_URL does not answer as a Redis of the engine`, { why: trouble });
  }

  #tell(message: string, fields: object): void {
    const now = performance.now();
    if (now - (this.#told.get(message) ?? Number.NEGATIVE_INFINITY) < TOLD_EVERY_MS) return;
    this.#told.set(message, now);
    this.#options.logger.error(fields, message);
  }
}

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
