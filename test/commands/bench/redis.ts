/** A Redis with the engine's settings, whose work is measured. */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { obtainRedis } from '../../../src/embedded/obtain/redis-binary.mjs';
import { freePort } from '../../../src/embedded/run/ports.ts';
import { redisProgram, redisUrl } from '../../../src/embedded/run/redis.ts';
import { startKillable } from '../../support/killable.ts';
import { type Counter, countWithCallgrind, countWithPerf, underCallgrind } from './instructions.ts';

const PASSWORD = 'bench';
const APPEND_ONLY = 'appendonlydir';
const SETTINGS = [
  // A rewrite of the log forks in the middle of a round; what its copies cost is the machine's.
  'auto-aof-rewrite-percentage 0',
  // The server's own work, ten times a second by default, is no part of a call.
  ...['hz 1', 'activerehashing no'],
];

export interface MeasuredRedis {
  readonly url: string;
  readonly pid: number;
  readonly redis: Redis;
  /** Instructions while `work` runs; undefined where they cannot be counted. */
  count(work: () => Promise<void>): Promise<number | undefined>;
  /** Another server, under callgrind, on a copy of the data. */
  cloneCounted(folder: string): Promise<MeasuredRedis>;
  stop(): Promise<void>;
}

/** @param counter how its instructions are counted; callgrind makes the server some thirty times as slow */
export async function startMeasuredRedis(
  folder: string,
  counter: Counter | undefined,
): Promise<MeasuredRedis> {
  const port = await freePort();
  const plain = redisProgram(await obtainRedis(), {
    ...{ path: folder, port, password: PASSWORD, logFile: join(folder, 'redis.log'), settings: SETTINGS },
  });
  const server = await startKillable(counter === 'callgrind' ? underCallgrind(plain) : plain);
  const url = redisUrl(port, PASSWORD);
  const redis = new Redis(url);
  const pid = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))![1]);
  return {
    ...{ url, pid, redis },
    async count(work) {
      if (counter === 'perf') return countWithPerf([pid], work);
      if (counter === 'callgrind') return countWithCallgrind(pid, folder, work);
      await work();
      return undefined;
    },
    async cloneCounted(copy) {
      await rewriteLog(redis);
      cpSync(join(folder, APPEND_ONLY), join(copy, APPEND_ONLY), { recursive: true });
      return startMeasuredRedis(copy, 'callgrind');
    },
    async stop() {
      redis.disconnect();
      await server.stop();
    },
  };
}

/** Afterwards the log is an image of the data, which loads quickly. */
async function rewriteLog(redis: Redis): Promise<void> {
  await redis.bgrewriteaof();
  while (!/^aof_rewrite_in_progress:0/m.test(await redis.info('persistence'))) await sleep(20);
}

/** Seconds that the server has been on the processor. */
export async function processorSeconds(redis: Redis): Promise<number> {
  const cpu = await redis.info('cpu');
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(cpu)![1]);
  return read('used_cpu_user') + read('used_cpu_sys');
}

/** Bytes of the append-only file. */
export async function logBytes(redis: Redis): Promise<number> {
  return Number(/^aof_current_size:(\d+)/m.exec(await redis.info('persistence'))![1]);
}
