/**
 * Request limits (docs/api.md 8), with express-rate-limit as the middleware. The limits hold over any 60 seconds, so
 * `request-log.ts` counts with a sliding window. `rate-limit-redis` counts a fixed window, which admits twice the limit
 * around its end. Only `ceiling.ts` uses it, where a coarse count is enough.
 */

import type { Request, RequestHandler, Response } from 'express';
import { type AugmentedRequest, rateLimit, type Store } from 'express-rate-limit';
import { Refusal } from '../../domain/errors.ts';
import { clientAddresses } from '../../edge/client-address.ts';
import { addHeader } from '../response/index.ts';
import type { Services } from '../services.ts';
import { BUCKETS, type Bucket, type BucketRule, mapBuckets, WINDOW_MS } from './buckets.ts';
import { sessionOf } from './client.ts';
import { addressLog, clientLog } from './keys.ts';
import type { OrderCount } from './order-limit.ts';
import { type CountRequest, openRequestLogs } from './request-log.ts';

/** Result of counting a request. `failed` means Redis was unavailable and the request was not counted. */
type Decision = 'allowed' | 'limited' | 'failed';

/** Makes the middleware of a bucket. If `announced` is true, the middleware sends the `RateLimit-*` headers. */
type RequestLimits = (bucket: Bucket, announced: boolean) => RequestHandler;

/**
 * Time at which the oldest request leaves the window. The time is Redis' clock, so the wait from now is stored with it.
 */
interface WindowEnd extends Date {
  readonly retryAfterSeconds: number;
}

export type LimitServices = Pick<Services, 'auth' | 'queueRedis' | 'logger' | 'metrics' | 'settings'>;

/** Makes the request limits. All replicas that use the same Redis share the counts. */
export function requestLimits({
  auth,
  queueRedis: redis,
  logger,
  metrics,
  settings,
}: LimitServices): RequestLimits {
  const addressOf = clientAddresses(settings.trustProxyHops);
  const openLog = openRequestLogs({ redis, windowMs: WINDOW_MS, logger });
  const stores = mapBuckets((bucket) => {
    const limits = limitsOf(BUCKETS[bucket]);
    return storeOf(limits, openLog(limits), (decision) => metrics.countLimited(bucket, decision));
  });
  return (bucket, announced) => {
    const rule: BucketRule = BUCKETS[bucket];
    const limiter = rateLimit({
      windowMs: WINDOW_MS,
      limit: rule.limit,
      store: stores[bucket],
      keyGenerator: (request) => logsOf(bucket, rule, addressOf(request), sessionOf(auth, request)).join(' '),
      // The package's `RateLimit-Reset` is a number of seconds from now; the contract's is a point in time.
      standardHeaders: false,
      legacyHeaders: false,
      handler: (_request, _response, next) => next(new Refusal('RATE_LIMITED')),
      passOnStoreError: rule.whenAway === 'serve',
      // The package logs every failure of the store. The store logs only the start and the end of an outage.
      logger: { error: () => undefined, warn: () => undefined },
      // The checks look for mistakes that this set-up cannot have: default keys, stores of one process.
      validate: false,
    });
    return (request, response, next) =>
      limiter(request, response, (error?: unknown) => {
        setHeaders(request, response, announced);
        next(error);
      });
  };
}

/** Sets the headers of a request whose orders were counted. */
export function announceOrders(response: Response, count: OrderCount, isRefused: boolean): void {
  addHeader(response, 'RateLimit-Limit', String(count.limit));
  addHeader(response, 'RateLimit-Remaining', String(count.remaining));
  addHeader(response, 'RateLimit-Reset', String(count.resetsAtSeconds));
  if (isRefused) addHeader(response, 'Retry-After', String(count.retryAfterSeconds));
}

/** Returns the keys of the logs that count a request. `keyGenerator` joins them with spaces into one key. */
function logsOf(
  bucket: Bucket,
  { addressCeiling }: BucketRule,
  address: string,
  session: string | undefined,
): string[] {
  const log = clientLog(bucket, session === undefined ? `address:${address}` : `session:${session}`);
  return addressCeiling === undefined ? [log] : [log, addressLog(bucket, address)];
}

/** Returns the limit of each log that counts a request of the bucket. The first is the documented limit. */
const limitsOf = ({ limit, addressCeiling }: BucketRule): readonly [limit: number, ...ceiling: number[]] =>
  addressCeiling === undefined ? [limit] : [limit, addressCeiling];

function storeOf(
  [limit]: readonly [number, ...number[]],
  count: CountRequest,
  observe: (decision: Decision) => void,
): Store {
  const neverCalled = (): never => {
    throw new Error('decrement and resetKey are not supported');
  };
  return {
    async increment(logs) {
      try {
        const { counted, remaining, resetsAtSeconds, retryAfterSeconds } = await count(logs.split(' '));
        observe(counted ? 'allowed' : 'limited');
        const resetTime: WindowEnd = Object.assign(new Date(resetsAtSeconds * 1000), { retryAfterSeconds });
        return { totalHits: counted ? limit - remaining : limit + 1, resetTime };
      } catch (error) {
        observe('failed');
        throw error;
      }
    },
    decrement: neverCalled,
    resetKey: neverCalled,
  };
}

/**
 * Sets the headers of a counted request. `RateLimit-Limit` is always the documented limit. An address ceiling affects
 * only `RateLimit-Remaining`.
 */
export function setHeaders(request: Request, response: Response, announced: boolean): void {
  const count = (request as AugmentedRequest).rateLimit;
  if (count === undefined) return;
  const end = count.resetTime as WindowEnd;
  if (announced) {
    addHeader(response, 'RateLimit-Limit', String(count.limit));
    addHeader(response, 'RateLimit-Remaining', String(count.remaining));
    addHeader(response, 'RateLimit-Reset', String(end.getTime() / 1000));
  }
  if (end.retryAfterSeconds > 0) addHeader(response, 'Retry-After', String(end.retryAfterSeconds));
}
