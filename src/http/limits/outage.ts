/** Tracks outages of the Redis that counts requests. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Refusal } from '../../domain/errors.ts';
import { errorRecord } from '../../process/redact.ts';

/** Interval between two questions to a Redis that failed. */
const ASK_AGAIN_MS = 100;

/**
 * Fails requests at once while Redis does not answer, and logs the start and the end of an outage. The tracker itself
 * asks Redis for the time until it answers, so no request waits for a Redis that hangs. Requests are counted again as
 * soon as `/readyz` reports Redis as there, because its check asks the same.
 */
export function watchOutages(redis: Redis, logger: Logger) {
  let answers = true;
  /** Stays true if Redis answers but cannot count, for example while it is read-only. */
  let isLogged = false;
  let isAsking = false;
  const untilItAnswers = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    while (!answers && redis.status !== 'end') {
      const isBack = await redis.time().then(
        () => true,
        () => false,
      );
      if (isBack) answers = true;
      else await sleep(ASK_AGAIN_MS, undefined, { ref: false });
    }
    isAsking = false;
  };
  redis.on('ready', () => {
    answers = true;
  });
  return {
    failFast(): void {
      if (!answers) throw new Refusal('SERVICE_UNAVAILABLE');
    },
    begin(cause: unknown): void {
      if (!isLogged) logger.warn({ error: errorRecord(cause) }, 'limits: Redis does not answer');
      isLogged = true;
      answers = false;
      void untilItAnswers();
    },
    end(): void {
      if (isLogged) logger.info('limits: Redis answers again');
      isLogged = false;
    },
  };
}
