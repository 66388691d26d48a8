/** Checks after each connection that Redis grants its user what the role runs, and reports rights that are missing. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { checkRights, MissingRights } from '../engine/index.ts';
import type { Outages } from './outages.ts';

/** Interval of checks while rights are missing, so that an operator who has loaded them need not wait long. */
const RETRY_MS = 1_000;
/** Name under which missing rights are reported as an outage of the server. */
const USER = 'rights';

export interface RightsWatch {
  /** Returns `ok`, or `without rights` while the user lacks some. Used by `/readyz`. */
  state(): string;
  stop(): void;
}

/** @param server name of the server, with the setting that names it */
export function watchRights(parts: {
  readonly redis: Redis;
  readonly user: string;
  readonly server: string;
  readonly outages: Pick<Outages, 'report' | 'clear'>;
}): RightsWatch {
  const { redis, user, server, outages } = parts;
  let state = 'ok';
  let checking = false;
  let stopped = false;
  const check = async (): Promise<void> => {
    if (checking) return;
    checking = true;
    while (!stopped && redis.status === 'ready') {
      const error: unknown = await checkRights(redis, user).then(
        () => undefined,
        (refused: unknown) => refused,
      );
      // A connection that broke meanwhile is reported elsewhere.
      if (!(error instanceof MissingRights)) break;
      state = 'without rights';
      outages.report(server, USER, error);
      await sleep(RETRY_MS);
    }
    checking = false;
    if (redis.status !== 'ready') return;
    state = 'ok';
    outages.clear(server, USER);
  };
  redis.on('ready', check);
  if (redis.status === 'ready') void check();
  return {
    state: () => state,
    stop() {
      stopped = true;
      redis.off('ready', check);
    },
  };
}
