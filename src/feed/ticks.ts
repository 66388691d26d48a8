/** Ticks: every two seconds one, by the clock of the Redis they are counted in; the first to ask gets it. */

import type { Redis } from 'ioredis';
import { TICK_MS } from '../domain/tick.ts';
import { loadScript, runScript } from '../redis/lua.ts';
import { TICKS } from './keys.ts';

export interface TickClaim {
  /** The tick that is ours to build, larger than any before it; null: it is another's already. */
  readonly tick: number | null;
  /** Unix milliseconds by Redis' clock. */
  readonly timeMs: number;
}

const claimScript = loadScript('claim_tick');

export async function claimTick(redis: Redis): Promise<TickClaim> {
  const [tick, timeMs] = (await runScript(redis, claimScript, [TICKS], [TICK_MS])) as [number, number];
  return { tick: tick === 0 ? null : tick, timeMs };
}

/** Notes that the frames of a claimed tick are out. */
export async function notePublished(redis: Redis, { timeMs }: TickClaim): Promise<void> {
  await redis.hset(TICKS, 'published', timeMs);
}

/** Age of the newest frames in milliseconds; null: there never were any. */
export async function framesAgeMs(redis: Redis): Promise<number | null> {
  const [published, [seconds, microseconds]] = await Promise.all([
    redis.hget(TICKS, 'published'),
    redis.time(),
  ]);
  const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  return published === null ? null : Math.max(0, Math.round(nowMs - Number(published)));
}
