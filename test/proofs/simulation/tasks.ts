/** Tasks of a worker process of the simulation, and its answers with the processor time that they took. */

import { plantedFor } from '../../planted/planted.ts';
import { familySeconds, parentOf } from '../../support/proc.ts';
import { freshDatabase, freshLedgerDatabase, loneRedis } from '../../support/servers.ts';
import { type Failure, openWorld, simulate } from './simulate.ts';
import type { World } from './world.ts';

/** Seconds of each part. */
export interface UsedSeconds {
  readonly node: number;
  readonly redis: number;
  readonly postgres: number;
}

class ProcessorTime {
  readonly #world: World;
  readonly #postmaster: number;
  #before: UsedSeconds = { node: 0, redis: 0, postgres: 0 };

  private constructor(world: World, postmaster: number) {
    this.#world = world;
    this.#postmaster = postmaster;
  }

  static async of(world: World): Promise<ProcessorTime> {
    const { rows } = await (await world.sessions.monitor()).query<{ pid: number }>(
      'select pg_backend_pid() as pid',
    );
    const time = new ProcessorTime(world, parentOf(rows[0]!.pid));
    time.#before = await time.#read();
    return time;
  }

  /** Seconds since this was made. */
  async seconds(): Promise<UsedSeconds> {
    const now = await this.#read();
    const before = this.#before;
    const since = (part: keyof UsedSeconds): number => now[part] - before[part];
    return { node: since('node'), redis: since('redis'), postgres: since('postgres') };
  }

  async #read(): Promise<UsedSeconds> {
    const { user, system } = process.cpuUsage();
    const redis = await this.#world.redis.info('cpu');
    const ofRedis = ['used_cpu_sys', 'used_cpu_user'].map((name) =>
      Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(redis)?.[1] ?? 0),
    );
    return {
      node: (user + system) / 1e6,
      redis: ofRedis[0]! + ofRedis[1]!,
      postgres: familySeconds(this.#postmaster),
    };
  }
}

export interface Task {
  /** Seed of the first history; the others have those that follow. */
  readonly seed: number;
  readonly histories: number;
  readonly steps: number;
  /** Number of the engine's copies; 1: it is on one server. */
  readonly copies: number;
  /** Name of the fault that is planted, if any. */
  readonly fault?: string | undefined;
  /** True to leave a failing history as long as it is. */
  readonly isRaw?: boolean;
}

export interface TaskResult {
  /** Histories that were run: all, or those up to the failing one. */
  readonly histories: number;
  readonly decisions: number;
  readonly commands: number;
  /** Processor time of this process, its Redis and its Postgres. */
  readonly used: UsedSeconds;
  readonly failure: Failure | undefined;
  /** Patterns of the planted fault that no statement had. */
  readonly unmet: readonly string[];
}

const MAX_REPLAYS = 400;

/** Runs tasks one after the other, on a Redis and a database of its own. */
export class TaskRunner {
  readonly #worlds = new Map<number, World>();

  async run({ seed, histories, steps, copies, fault: name, isRaw }: Task): Promise<TaskResult> {
    const fault = plantedFor('simulation').find((one) => one.name === name);
    const world =
      fault === undefined ? await this.world(copies) : await openWorld(await freshServers(copies), fault);
    try {
      const processors = await ProcessorTime.of(world);
      const options = { world, histories, seed, steps, fault };
      const simulated = await simulate({
        ...options,
        maxReplays: fault !== undefined || isRaw ? 0 : MAX_REPLAYS,
      });
      return { ...simulated, used: await processors.seconds() };
    } finally {
      if (fault !== undefined) await world.close();
    }
  }

  async world(copies: number): Promise<World> {
    const known = this.#worlds.get(copies);
    if (known !== undefined) return known;
    const world = await openWorld(await freshServers(copies));
    this.#worlds.set(copies, world);
    return world;
  }

  async close(): Promise<void> {
    for (const world of this.#worlds.values()) await world.close();
  }
}

async function freshServers(copies: number): Promise<Parameters<typeof openWorld>[0]> {
  return {
    copies,
    redisUrl: await loneRedis(),
    databaseUrl: await freshDatabase(),
    freshDatabase: freshLedgerDatabase,
  };
}
