/** Outages of the Redis that counts requests. */

import type { Logger } from 'pino';
import { Refusal } from '../../domain/errors.ts';
import { errorRecord } from '../redact.ts';

/** While Redis does not answer it is asked this often, by one request; the others need not wait to hear the same. */
const ASK_AGAIN_MS = 1_000;

/** Knows whether Redis is away, tells the log when that changes, and keeps requests from waiting for it in vain. */
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
