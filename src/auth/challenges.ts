/** Stores login challenges in Redis. Each challenge is issued, read, and consumed once. */

import type { Redis } from 'ioredis';
import { Refusal } from '../domain/errors.ts';
import { loadScript } from '../redis/lua.ts';
import { describeScript, LoadedCall } from '../redis/script-call.ts';
import { challengeKey, type Flow } from './keys.ts';

export const CHALLENGE_LIFETIME_MS = 5 * 60_000;

/**
 * Challenges of all wallets. A record is an opaque string that contains the nonce. Every method throws
 * `SERVICE_UNAVAILABLE` if Redis fails. After a failed `consume` the record may or may not be gone; the client requests
 * a new challenge.
 */
export interface Challenges {
  /** Makes `record` the current one. It replaces any earlier one of this wallet and flow. */
  issue(flow: Flow, wallet: string, record: string): Promise<void>;
  /** Returns the latest record unless it was used or has expired. */
  find(flow: Flow, wallet: string): Promise<string | null>;
  /** Returns true if the record is the current one. */
  look(flow: Flow, wallet: string, record: string): Promise<boolean>;
  /** Consumes a current record. Only one caller over all replicas gets `true`. */
  consume(flow: Flow, wallet: string, record: string): Promise<boolean>;
}

export const CONSUME_CHALLENGE = describeScript({
  name: 'consume_challenge',
  keys: ['challenge'],
  args: ['record', 'consume'],
  read: (reply) => reply === 1,
});

const consumeChallenge = new LoadedCall(CONSUME_CHALLENGE, loadScript(CONSUME_CHALLENGE.name));

export function openChallenges(redis: Redis): Challenges {
  const judge = (flow: Flow, wallet: string, record: string, consume: '0' | '1') =>
    reached(() =>
      consumeChallenge.run(redis, {
        challenge: challengeKey(flow, wallet),
        record,
        consume,
      }),
    );
  return {
    issue: (flow, wallet, record) =>
      reached(async () => {
        await redis.set(challengeKey(flow, wallet), record, 'PX', CHALLENGE_LIFETIME_MS);
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
