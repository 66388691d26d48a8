/** Tracks outages of the Redis that counts requests. */

import type { Logger } from 'pino';
import { Refusal } from '../../domain/errors.ts';
import { errorRecord } from '../redact.ts';

/** Interval between retries while Redis is unavailable. One request retries; the others fail at once. */
const ASK_AGAIN_MS = 1_000;

/** Tracks whether Redis is available, logs each change, and fails requests fast during an outage. */
export function watchOutages(logger: Logger) {
  let isAway = false;
  let askAgainAtMs = 0;
  return {
    refuseInVain(): void {
      if (!isAway) return;
      const nowMs = performance.now();
      if (nowMs < askAgainAtMs) throw new Refusal('SERVICE_UNAVAILABLE');
      askAgainAtMs = nowMs + ASK_AGAIN_MS;
    },
    begin(cause: unknown): void {
      askAgainAtMs = performance.now() + ASK_AGAIN_MS;
      if (!isAway) logger.warn({ error: errorRecord(cause) }, 'limits: Redis does not answer');
      isAway = true;
    },
    end(): void {
      if (isAway) logger.info('limits: Redis answers again');
      isAway = false;
    },
  };
}
