/** Tasks of a worker process of the simulation, and its answers. */

import { plantedFor } from '../../planted/planted.ts';
import { freshDatabase, freshLedgerDatabase, loneRedis } from '../../support/servers.ts';
import { ProcessorTime, type UsedSeconds } from './processor-time.ts';
import { type Failure, openWorld, simulate } from './simulate.ts';
import type { World } from './world.ts';

export interface Task {
  /** Seed of the first history; the others have those that follow. */
  readonly seed: number;
  readonly histories: number;
  readonly steps: number;
  /** Name of the fault that is planted, if any. */
  readonly fault?: string | undefined;
}

export interface TaskResult {
  /** Histories that were run: all, or those up to the failing one. */
  readonly histories: number;
  readonly decisions: number;
  readonly commands: number;
  /** Processor time of this process, its Redis and its Postgres. */
  readonly used: UsedSeconds;
  readonly failure: Failure | undefined;
}

const MAX_REPLAYS = 400;

/** Runs tasks one after the other, on a Redis and a database of its own. */
export class TaskRunner {
  #world: World | undefined;

  async run({ seed, histories, steps, fault: name }: Task): Promise<TaskResult> {
    const fault = plantedFor('simulation').find((one) => one.name === name);
    const world = fault === undefined ? await this.world() : await openWorld(await freshServers(), fault);
    try {
      const processors = await ProcessorTime.of(world);
      const options = { world, histories, seed, steps, fault };
      const simulated = await simulate({ ...options, maxReplays: fault === undefined ? MAX_REPLAYS : 0 });
      return { ...simulated, used: await processors.seconds() };
    } finally {
      if (fault !== undefined) await world.close();
    }
  }

  async world(): Promise<World> {
    this.#world ??= await openWorld(await freshServers());
    return this.#world;
  }

  async close(): Promise<void> {
    await this.#world?.close();
  }
}

async function freshServers(): Promise<Parameters<typeof openWorld>[0]> {
  return {
    redisUrl: await loneRedis(),
    databaseUrl: await freshDatabase(),
    freshDatabase: freshLedgerDatabase,
  };
}
