/** Asks servers for everything that a process of a role needs, by the checks that processes use. Changes nothing. */

import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Config, ConfigOf } from '../config.ts';
import {
  checkNoCopies,
  checkRights,
  checkServerSettings,
  checkService,
  foreignFormat,
  lookAt,
  otherFormat,
  rankOfPrimary,
} from '../engine/index.ts';
import { openLedger } from '../ledger/index.ts';
import { readRedisAddress, serverName } from '../redis/address.ts';
import { askServer, connectRedis, type RedisServer } from '../redis/connections.ts';
import { engineAt, queueAt } from './backends.ts';
import { passwordsOf, serverNames } from './server-names.ts';
import { reasonOf } from './server-trouble.ts';
import { evictionOf, listpacksOf } from './setting-warnings.ts';

/** `must`: trade would stop or data be lost. `should`: it costs something. */
export type Verdict = 'right' | 'should' | 'must';

export interface Finding {
  readonly role: string;
  readonly part: string;
  readonly what: string;
  readonly verdict: Verdict;
  /** The reason and the remedy; empty where all is right. */
  readonly found: string;
  /** The document, with the heading in it. */
  readonly see: string;
}

const SEE = {
  settings: 'docs/configuration.md, "Settings"',
  redis: 'docs/configuration.md, "Where Redis is"',
  durability: 'docs/configuration.md, "Where Redis is"',
  redisUsers: 'docs/operating.md, "Users of Redis"',
  postgresUsers: 'docs/operating.md, "Users of Postgres"',
  copies: 'docs/operating.md, "An engine with copies"',
  format: 'docs/operating.md, "An engine of another format"',
  scaling: 'docs/operating.md, "Scaling"',
  clocks: 'docs/operating.md, "Upgrade and roll back"',
} as const;

/** Copies that are further apart do not join. */
const MAX_SKEW_MS = 1_000;
/** A session that is dated later than that is refused. */
const REFUSED_SKEW_MS = 60_000;
const CONNECTS_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 20;
/** Connections of a process to a Redis, at most. */
const CONNECTIONS_OF_PROCESS = 10;
/** A Redis that is so full refuses writes soon. */
const FULL = 0.9;

/** Asks one thing. Resolves to the reason why it is wrong; undefined where it is right. */
type Ask = () => Promise<string | undefined>;

export class Examination {
  readonly findings: Finding[] = [];
  readonly #role: string;
  readonly #config: Config;

  constructor(role: string, config: Config) {
    this.#role = role;
    this.#config = config;
  }

  add(part: string, what: string, verdict: Verdict, found: string, see: string): void {
    this.findings.push({ role: this.#role, part, what, verdict, found, see });
  }

  async #ask(part: string, what: string, wrong: 'should' | 'must', see: string, ask: Ask): Promise<boolean> {
    const found = await ask().catch((error: unknown) => reasonOf(error, passwordsOf(this.#config)));
    this.add(part, what, found === undefined ? 'right' : wrong, found ?? '', see);
    return found === undefined;
  }

  /** Asks each server of the engine. @param isWriting false for a role that only reads markets */
  async engine(config: ConfigOf<'stream'>, isWriting: boolean): Promise<void> {
    const at = engineAt(config);
    const { kind, endpoints } = readRedisAddress(at.url)!;
    if (kind !== 'copies') {
      const part = serverNames(config).engine;
      return this.#onServer(part, at, (redis) => this.#engineServer(part, redis, config, isWriting));
    }
    for (const endpoint of endpoints) {
      const part = `copy ${serverName(endpoint)} (REDIS_URL)`;
      await this.#ask(part, 'answers', 'must', SEE.copies, () =>
        askServer(at, endpoint, async (redis) => {
          await this.#engineServer(part, redis, config, isWriting);
          return undefined;
        }),
      );
    }
  }

  async #onServer(part: string, at: RedisServer, work: (redis: Redis) => Promise<void>): Promise<void> {
    let trouble: Error | null = null;
    const redis = connectRedis(
      at,
      `${this.#role}-doctor`,
      (error) => {
        trouble = error;
      },
      rankOfPrimary,
    );
    const untilMs = Date.now() + CONNECTS_WITHIN_MS;
    while (redis.status !== 'ready' && trouble === null && Date.now() < untilMs) await sleep(LOOK_EVERY_MS);
    const isReady = await this.#ask(part, 'answers', 'must', SEE.redis, async () => {
      if (redis.status !== 'ready') throw trouble ?? new Error('it does not answer');
      return undefined;
    });
    if (isReady) await work(redis);
    redis.disconnect();
  }

  async #engineServer(
    part: string,
    redis: Redis,
    config: ConfigOf<'stream'>,
    isWriting: boolean,
  ): Promise<void> {
    const { kind } = readRedisAddress(config.redisUrl)!;
    const hasCopies = kind === 'copies';
    // A replica runs no script that may write, as the one that asks Redis about rights.
    if ((await rankOfPrimary(redis).catch(() => 0)) !== undefined)
      await this.#ask(part, 'rights of its user', 'must', SEE.redisUsers, async () => {
        await checkRights(redis, `engine-${this.#role}`, hasCopies);
        return undefined;
      });
    if (!isWriting) return;
    let hidden: string | undefined;
    await this.#ask(part, 'settings that keep answered orders', 'must', SEE.durability, async () => {
      if (kind === 'durable') await checkService(redis);
      else
        await checkServerSettings(redis, {
          isTrusted: config.engineDurability === 'trusted',
          warn: (message) => {
            hidden = message;
          },
        });
      return hasCopies ? (await lookAt(redis)).unfit : undefined;
    });
    if (hidden !== undefined) this.add(part, 'settings that it hides', 'should', hidden, SEE.durability);
    if (kind === 'server')
      await this.#ask(part, 'is no copy', 'must', SEE.copies, async () => {
        await checkNoCopies(redis);
        return undefined;
      });
    await this.#ask(part, 'format of the engine', 'must', SEE.format, async () => {
      const format = await foreignFormat(redis);
      return format === undefined ? undefined : otherFormat(format).message;
    });
    await this.#ask(part, 'hashes without lists', 'should', SEE.redis, () =>
      listpacksOf(redis).catch(() => undefined),
    );
    await this.#redisServer(part, redis);
    await this.#ask(part, 'clock', 'must', SEE.clocks, async () => tooFar(await clockOf(redis), MAX_SKEW_MS));
  }

  /** Disk, memory and connections of a Redis. */
  async #redisServer(part: string, redis: Redis): Promise<void> {
    await this.#ask(part, 'disk', 'must', SEE.scaling, async () => {
      const info = await redis.info('persistence');
      const failed = ['aof_last_write_status', 'aof_last_bgrewrite_status'].filter((name) =>
        info.includes(`\n${name}:err`),
      );
      return failed.length === 0 ? undefined : `its file cannot be written (${failed.join(', ')} err)`;
    });
    await this.#ask(part, 'memory', 'should', SEE.scaling, async () => {
      const info = await redis.info('memory');
      const used = numberIn(info, 'used_memory');
      const max = numberIn(info, 'maxmemory');
      if (max === 0) return 'maxmemory is 0, should be half of what the server may use';
      return used > FULL * max ? `${used} of ${max} bytes are in use` : undefined;
    });
    await this.#ask(part, 'connections', 'must', SEE.scaling, async () => {
      const info = await redis.info('clients');
      const open = numberIn(info, 'connected_clients');
      const max = numberIn(info, 'maxclients');
      return max > 0 && open + CONNECTIONS_OF_PROCESS > max
        ? `maxclients is ${max}, and ${open} are open: ten are needed for each process`
        : undefined;
    });
  }

  async queue(config: ConfigOf<'stream'>): Promise<void> {
    const part = serverNames(config).queue;
    await this.#onServer(part, queueAt(config), async (redis) => {
      await this.#ask(part, 'rights of its user', 'must', SEE.redisUsers, async () => {
        await checkRights(redis, `queue-${this.#role}`);
        return undefined;
      });
      await this.#ask(part, 'forgets nothing', 'should', SEE.redis, () => evictionOf(redis));
    });
  }

  async postgres(config: Config & { readonly databaseUrl: string }): Promise<void> {
    const part = serverNames(config).postgres;
    const ledger = openLedger({ databaseUrl: config.databaseUrl });
    try {
      let seen: Awaited<ReturnType<typeof ledger.look>> | undefined;
      const askedMs = Date.now();
      const isThere = await this.#ask(part, 'answers', 'must', SEE.postgresUsers, async () => {
        seen = await ledger.look();
        return undefined;
      });
      if (!isThere || seen === undefined) return;
      const { timeMs, hasTables } = seen;
      await this.#ask(part, 'clock', 'should', SEE.clocks, async () =>
        tooFar({ aheadMs: timeMs - askedMs, withinMs: Date.now() - askedMs }, MAX_SKEW_MS),
      );
      await this.#ask(part, 'sessions of its own', 'must', SEE.scaling, async () => {
        await ledger.checkSessions();
        return undefined;
      });
      if (config.engineDurability === 'checked')
        await this.#ask(part, 'settings that keep commits', 'must', SEE.settings, async () => {
          await ledger.checkDurability();
          return undefined;
        });
      if (this.#role === 'migrate') return;
      this.add(
        part,
        'tables',
        hasTables ? 'right' : 'should',
        hasTables ? '' : 'none yet: `redbook migrate` makes them',
        SEE.postgresUsers,
      );
      if (!hasTables) return;
      await this.#ask(part, 'rights of its user', 'must', SEE.postgresUsers, async () => {
        await ledger.checkRights(this.#role);
        return undefined;
      });
      await this.#ask(part, 'connections', 'should', SEE.scaling, async () => {
        const { connections, maxConnections } = await ledger.serverFigures();
        return connections > FULL * maxConnections
          ? `${connections} of max_connections ${maxConnections} are open`
          : undefined;
      });
    } finally {
      await ledger.close();
    }
  }

  /** Asks whether something listens at the address of a setting. */
  async address(setting: string, url: string): Promise<void> {
    await this.#ask(`${url} (${setting})`, 'answers', 'should', SEE.settings, () => reach(new URL(url)));
  }
}

interface Clock {
  /** Milliseconds by which it is ahead of the start of the question. */
  readonly aheadMs: number;
  /** Time that the answer took, which may be part of that. */
  readonly withinMs: number;
}

async function clockOf(redis: Redis): Promise<Clock> {
  const askedMs = Date.now();
  const [seconds, micros] = await redis.time();
  const timeMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
  return { aheadMs: timeMs - askedMs, withinMs: Date.now() - askedMs };
}

function tooFar({ aheadMs, withinMs }: Clock, maxMs: number): string | undefined {
  const behindMs = -aheadMs;
  const offMs = Math.max(behindMs, aheadMs - withinMs);
  if (offMs <= maxMs) return undefined;
  const more = offMs > REFUSED_SKEW_MS ? ', and sessions would be refused' : '';
  return `it is ${Math.round(offMs)} ms ${behindMs > 0 ? 'behind' : 'ahead of'} this machine${more}: keep both on NTP`;
}

const numberIn = (info: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);

const reach = ({ hostname, port, protocol }: URL): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({
      host: hostname,
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      timeout: CONNECTS_WITHIN_MS,
    });
    const end = (found: string | undefined): void => {
      socket.destroy();
      resolve(found);
    };
    socket.once('connect', () => end(undefined));
    socket.once('error', (error) => end(reasonOf(error)));
    socket.once('timeout', () => end('it does not answer'));
  });
