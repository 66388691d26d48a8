/** Counts requests in Redis, exactly, over a window that slides: the face of `count_request.lua`. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Refusal } from '../../domain/errors.ts';
import { loadScript, runScript } from '../../scripts/index.ts';
import { errorRecord } from '../redact.ts';

/** While Redis does not answer it is asked this often, by one request; the others need not wait to hear the same. */
const ASK_AGAIN_MS = 1_000;

/** How the script keeps what it replies apart. */
const RESETS_UNIT = 1_000;

export interface Count {
  /** Whether the request was counted: there was room for it. */
  readonly counted: boolean;
  /** How many more would be counted now. */
  readonly remaining: number;
  /** Unix seconds by Redis' clock, rounded up: when the oldest request leaves the window. */
  readonly resetsAtSeconds: number;
  /** 0 when counted; otherwise how long to wait until one would be, at least 1. */
  readonly retryAfterSeconds: number;
}

/**
 * Counts a request in each of `logs` if all of them have room. Throws `SERVICE_UNAVAILABLE` when Redis fails; it is
 * unknown then whether the request was counted.
 * @param logs keys
 * @param limits most requests in a window, below 1000, one for each log
 */
export type CountRequest = (logs: readonly string[], limits: readonly number[]) => Promise<Count>;

const countRequest = loadScript('count_request');

export function openRequestLog(options: {
  readonly redis: Redis;
  readonly windowMs: number;
  readonly logger: Logger;
}): CountRequest {
  const { redis, windowMs, logger } = options;
  const outage = watchOutages(logger);
  return async (logs, limits) => {
    outage.refuseInVain();
    try {
      const reply = await runScript(redis, countRequest, logs, [windowMs, 2 * windowMs, ...limits]);
      outage.end();
      return readReply(reply as number);
    } catch (cause) {
      outage.begin(cause);
      throw new Refusal('SERVICE_UNAVAILABLE', undefined, { cause });
    }
  };
}

function readReply(reply: number): Count {
  const detail = Math.abs(reply) % RESETS_UNIT;
  const resetsAtSeconds = Math.floor(Math.abs(reply) / RESETS_UNIT);
  return reply < 0
    ? { counted: false, remaining: 0, resetsAtSeconds, retryAfterSeconds: detail }
    : { counted: true, remaining: detail, resetsAtSeconds, retryAfterSeconds: 0 };
}

/** Knows whether Redis is away, tells the log when that changes, and keeps requests from waiting for it in vain. */
function watchOutages(logger: Logger) {
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
