/** Claims ticks. There is one tick every two seconds by Redis' clock, and the first process that asks gets it. */

import type { Redis } from 'ioredis';
import { TICK_MS } from '../domain/tick.ts';
import { loadScript } from '../redis/lua.ts';
import { describeScript, LoadedCall } from '../redis/script-call.ts';
import { TICKS } from './keys.ts';

export interface TickClaim {
  /** Number of the claimed tick, larger than any before it; null if another process has claimed it. */
  readonly tick: number | null;
  /** Unix milliseconds by Redis' clock. */
  readonly timeMs: number;
}

export const CLAIM_TICK = describeScript({
  name: 'claim_tick',
  keys: ['ticks'],
  args: ['tickMs'],
  read: (reply): TickClaim => {
    const [tick, timeMs] = reply as [number, number];
    return { tick: tick === 0 ? null : tick, timeMs };
  },
});

const claimScript = new LoadedCall(CLAIM_TICK, loadScript(CLAIM_TICK.name));

export const claimTick = (redis: Redis): Promise<TickClaim> =>
  claimScript.run(redis, { ticks: TICKS, tickMs: TICK_MS });

/** Records that the frames of a claimed tick are published. */
export async function notePublished(redis: Redis, { timeMs }: TickClaim): Promise<void> {
  await redis.hset(TICKS, 'published', timeMs);
}

/** Returns the age of the newest frames in milliseconds, or null if there never were any. */
export async function framesAgeMs(redis: Redis): Promise<number | null> {
  const [published, [seconds, microseconds]] = await Promise.all([
    redis.hget(TICKS, 'published'),
    redis.time(),
  ]);
  const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  return published === null ? null : Math.max(0, Math.round(nowMs - Number(published)));
}
