/** A Redis with the engine's settings and with counters of its work. */

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
  // A rewrite of the log would fork during a round, and the cost of its page copies depends on the machine.
  'auto-aof-rewrite-percentage 0',
  // The server's periodic work, ten times a second by default, is not part of a call.
  'hz 1',
  'activerehashing no',
];

export interface MeasuredRedis {
  readonly url: string;
  readonly pid: number;
  readonly redis: Redis;
  /** Counts instructions while `work` runs; undefined if they cannot be counted. */
  count(work: () => Promise<void>): Promise<number | undefined>;
  /** Starts another server under callgrind on a copy of the data. */
  cloneCounted(folder: string): Promise<MeasuredRedis>;
  stop(): Promise<void>;
}

/** @param counter tool that counts its instructions; callgrind makes the server about thirty times as slow */
export async function startMeasuredRedis(
  folder: string,
  counter: Counter | undefined,
): Promise<MeasuredRedis> {
  const port = await freePort();
  const plain = redisProgram(await obtainRedis(), {
    path: folder,
    port,
    password: PASSWORD,
    logFile: join(folder, 'redis.log'),
    settings: SETTINGS,
  });
  const server = await startKillable(counter === 'callgrind' ? underCallgrind(plain) : plain);
  const url = redisUrl(port, PASSWORD);
  const redis = new Redis(url);
  const pid = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))![1]);
  return {
    url,
    pid,
    redis,
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

/** Rewrites the log as a snapshot of the data, which loads quickly. */
async function rewriteLog(redis: Redis): Promise<void> {
  await redis.bgrewriteaof();
  while (!/^aof_rewrite_in_progress:0/m.test(await redis.info('persistence'))) await sleep(20);
}

/** Processor time of the server in seconds. */
export async function processorSeconds(redis: Redis): Promise<number> {
  const cpu = await redis.info('cpu');
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(cpu)![1]);
  return read('used_cpu_user') + read('used_cpu_sys');
}

/** Bytes of the append-only file. */
export async function logBytes(redis: Redis): Promise<number> {
  return Number(/^aof_current_size:(\d+)/m.exec(await redis.info('persistence'))![1]);
}
