/** Processor time of a simulation: of this process, of its Redis and of its Postgres. Linux tells it in /proc. */

import { familySeconds, parentOf } from '../../support/proc.ts';
import type { World } from './world.ts';

/** Seconds of each part. */
export interface UsedSeconds {
  readonly node: number;
  readonly redis: number;
  readonly postgres: number;
}

export class ProcessorTime {
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
    const [now, before] = [await this.#read(), this.#before];
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
