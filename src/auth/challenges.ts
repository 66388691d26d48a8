/** Stores login challenges in Redis. Each challenge is issued, read, and consumed once. */

import type { Redis } from 'ioredis';
import { Refusal } from '../domain/errors.ts';
import { loadScript } from '../redis/lua.ts';
import { describeScript, LoadedCall } from '../redis/script-call.ts';
import { challengeKey, type Flow } from './keys.ts';

export const CHALLENGE_LIFETIME_MS = 5 * 60_000;

/**
 * Time that an expired record is kept, so that a late answer gets `nonce_expired` instead of `nonce_invalid`. An hour
 * covers a user who returns to an open tab. The time is bounded because anybody may request challenges.
 */
export const EXPIRED_RECORD_KEPT_MS = 60 * 60_000;

/** State of a record, for the wallet and flow that answer it. */
type Standing = 'current' | 'expired' | 'invalid';

/**
 * Challenges of all wallets. A record is an opaque string that contains the nonce. Every method throws
 * `SERVICE_UNAVAILABLE` if Redis fails. After a failed `consume` the record may or may not be gone; the client requests
 * a new challenge.
 */
export interface Challenges {
  /** Makes `record` the current one. It replaces any earlier one of this wallet and flow. */
  issue(flow: Flow, wallet: string, record: string): Promise<void>;
  /** Returns the latest record unless it was used. Expired records are returned for a while. */
  find(flow: Flow, wallet: string): Promise<string | null>;
  look(flow: Flow, wallet: string, record: string): Promise<Standing>;
  /** Consumes a current record. Only one caller over all replicas gets `current`. */
  consume(flow: Flow, wallet: string, record: string): Promise<Standing>;
}

export const CONSUME_CHALLENGE = describeScript({
  name: 'consume_challenge',
  keys: ['challenge'],
  args: ['record', 'keptMs', 'consume'],
  read: (reply) => String(reply) as Standing,
});

const consumeChallenge = new LoadedCall(CONSUME_CHALLENGE, loadScript(CONSUME_CHALLENGE.name));

export function openChallenges(redis: Redis): Challenges {
  const judge = (flow: Flow, wallet: string, record: string, consume: '0' | '1') =>
    reached(() =>
      consumeChallenge.run(redis, {
        challenge: challengeKey(flow, wallet),
        record,
        keptMs: EXPIRED_RECORD_KEPT_MS,
        consume,
      }),
    );
  return {
    issue: (flow, wallet, record) =>
      reached(async () => {
        const keptMs = CHALLENGE_LIFETIME_MS + EXPIRED_RECORD_KEPT_MS;
        await redis.set(challengeKey(flow, wallet), record, 'PX', keptMs);
      }),
    find: (flow, wallet) => reached(() => redis.get(challengeKey(flow, wallet))),
    look: (flow, wallet, record) => judge(flow, wallet, record, '0'),
    consume: (flow, wallet, record) => judge(flow, wallet, record, '1'),
  };
}

async function reached<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new Refusal('SERVICE_UNAVAILABLE', undefined, { cause });
  }
}
