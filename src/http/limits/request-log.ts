/**
 * Counts requests in Redis exactly, over a sliding window. `count_requests.lua` explains why it does not use a sorted
 * set.
 */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Refusal } from '../../domain/errors.ts';
import { loadScript } from '../../redis/lua.ts';
import { describeScript, LoadedCall } from '../../redis/script-call.ts';
import { watchOutages } from './outage.ts';

/** Factor that packs the two numbers of a script reply into one. */
const RESETS_UNIT = 1_000;

interface RequestCount {
  /** True if there was room for the request and it was counted. */
  readonly counted: boolean;
  /** Number of further requests that there is room for now. */
  readonly remaining: number;
  /** Time at which the oldest request leaves the window: Unix seconds by Redis' clock, rounded up. */
  readonly resetsAtSeconds: number;
  /** 0 if counted; otherwise seconds until there is room for a request, at least 1. */
  readonly retryAfterSeconds: number;
}

/**
 * Counts a request in each of its logs if all of them have room. Throws `SERVICE_UNAVAILABLE` if Redis fails; the
 * request may or may not have been counted then.
 * @param logs keys, one for each limit
 */
export type CountRequest = (logs: readonly string[]) => Promise<RequestCount>;

/** Maximum requests in one call, so that the script runs for at most half a millisecond. */
const MAX_TOGETHER = 100;

interface WaitingRequest {
  readonly logs: readonly string[];
  resolve(count: RequestCount): void;
  reject(error: Refusal): void;
}

export const COUNT_REQUESTS = describeScript({
  name: 'count_requests',
  keys: ['logs...'],
  args: ['windowMs', 'keptMs', 'limits...'],
  read: (reply) => reply as number[],
});

const countRequests = new LoadedCall(COUNT_REQUESTS, loadScript(COUNT_REQUESTS.name));

/**
 * Counts requests that arrive in the same turn of the event loop with one script call, each against its own logs. A
 * Redis command costs this process more than the counting costs Redis.
 * @returns a function that makes the counter of a bucket; its argument is the limit for each of a request's logs, below
 *   1000
 */
export function openRequestLogs(options: {
  readonly redis: Redis;
  readonly windowMs: number;
  readonly logger: Logger;
}): (limits: readonly number[]) => CountRequest {
  const { redis, windowMs, logger } = options;
  const outage = watchOutages(redis, logger);

  const count = async (requests: readonly WaitingRequest[], limits: readonly number[]): Promise<void> => {
    const logs = requests.flatMap((request) => request.logs);
    try {
      const replies = await countRequests.run(redis, { logs, windowMs, keptMs: 3 * windowMs, limits });
      outage.end();
      for (const [index, { resolve }] of requests.entries()) resolve(readReply(replies[index]!));
    } catch (cause) {
      outage.begin(cause);
      for (const { reject } of requests) reject(new Refusal('SERVICE_UNAVAILABLE', undefined, { cause }));
    }
  };

  return (limits) => {
    let waiting: WaitingRequest[] = [];
    const countAll = (): void => {
      const requests = waiting;
      waiting = [];
      if (requests.length > 0) void count(requests, limits);
    };
    return async (logs) => {
      outage.failFast();
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(countAll);
        waiting.push({ logs, resolve, reject });
        if (waiting.length === MAX_TOGETHER) countAll();
      });
    };
  };
}

function readReply(reply: number): RequestCount {
  const detail = Math.abs(reply) % RESETS_UNIT;
  const resetsAtSeconds = Math.floor(Math.abs(reply) / RESETS_UNIT);
  return reply < 0
    ? { counted: false, remaining: 0, resetsAtSeconds, retryAfterSeconds: detail }
    : { counted: true, remaining: detail, resetsAtSeconds, retryAfterSeconds: 0 };
}
