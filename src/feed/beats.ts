/** Claims beats. There is one beat every two seconds by Redis' clock, and the first process that asks gets it. */

import type { Redis } from 'ioredis';
import { BEAT_MS } from '../domain/beat.ts';
import { loadScript } from '../redis/lua.ts';
import { describeScript, LoadedCall } from '../redis/script-call.ts';
import { BEATS } from './keys.ts';

export interface BeatClaim {
  /** Number of the claimed beat, larger than any before it; null if another process has claimed it. */
  readonly beat: number | null;
  /** Unix milliseconds by Redis' clock. */
  readonly timeMs: number;
}

export const CLAIM_BEAT = describeScript({
  name: 'claim_beat',
  keys: ['beats'],
  args: ['beatMs'],
  read: (reply): BeatClaim => {
    const [beat, timeMs] = reply as [number, number];
    return { beat: beat === 0 ? null : beat, timeMs };
  },
});

const claimScript = new LoadedCall(CLAIM_BEAT, loadScript(CLAIM_BEAT.name));

export const claimBeat = (redis: Redis): Promise<BeatClaim> =>
  claimScript.run(redis, { beats: BEATS, beatMs: BEAT_MS });

/** Records that the frames of a claimed beat are published. */
export async function notePublished(redis: Redis, { timeMs }: BeatClaim): Promise<void> {
  await redis.hset(BEATS, 'published', timeMs);
}

/** Returns the age of the newest frames in milliseconds, or null if there never were any. */
export async function framesAgeMs(redis: Redis): Promise<number | null> {
  const [published, [seconds, microseconds]] = await Promise.all([
    redis.hget(BEATS, 'published'),
    redis.time(),
  ]);
  const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  return published === null ? null : Math.max(0, Math.round(nowMs - Number(published)));
}
