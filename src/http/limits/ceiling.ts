/**
 * Coarse request limit for everything outside the documented routes: unknown paths, the documents and the pages. The
 * fixed window of rate-limit-redis is exact enough for these.
 */

import type { RequestHandler } from 'express';
import { rateLimit, type Store } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { Refusal } from '../../domain/errors.ts';
import { withTimeLimit } from '../../domain/time-limit.ts';
import { clientAddresses } from '../../edge/client-address.ts';
import { runScript, type Script, scriptOf } from '../../redis/lua.ts';
import { WINDOW_MS } from './buckets.ts';
import { type LimitServices, setHeaders } from './index.ts';
import { OUTSIDE_PREFIX } from './keys.ts';
import { watchOutages } from './outage.ts';

/** Maximum requests from one address in a window, across all replicas. */
const LIMIT = 600;
/** Timeout of Redis calls; short, because the count is coarse. */
const PATIENCE_MS = 1_000;

type CeilingServices = Pick<LimitServices, 'queueRedis' | 'logger' | 'metrics' | 'settings'>;

/** Serves requests without a limit while Redis is unavailable. */
export function outsideCeiling(services: CeilingServices): RequestHandler {
  const limiter = rateLimit({
    windowMs: WINDOW_MS,
    limit: LIMIT,
    store: ceilingStore(services),
    keyGenerator: clientAddresses(services.settings.trustProxyHops),
    standardHeaders: false,
    legacyHeaders: false,
    handler: (_request, _response, next) => next(new Refusal('RATE_LIMITED')),
    passOnStoreError: true,
    // The store logs its own outages. The package's checks look for mistakes that this set-up cannot have.
    logger: { error: () => undefined, warn: () => undefined },
    validate: false,
  });
  return (request, response, next) =>
    limiter(request, response, (error?: unknown) => {
      setHeaders(request, response, true);
      next(error);
    });
}

function ceilingStore({ queueRedis, logger, metrics }: CeilingServices): Store {
  const store = new RedisStore({ prefix: OUTSIDE_PREFIX, sendCommand: scriptsOf(queueRedis) });
  const outage = watchOutages(queueRedis, logger);
  return {
    init(options) {
      void store.init(options);
    },
    async increment(address) {
      outage.failFast();
      try {
        const { totalHits, resetTime } = await inTime(store.increment(address));
        outage.end();
        const isLimited = totalHits > LIMIT;
        metrics.countLimited('outside', isLimited ? 'limited' : 'allowed');
        const retryAfterSeconds = isLimited ? secondsUntil(resetTime!) : 0;
        const end = new Date(Math.ceil(resetTime!.getTime() / 1_000) * 1_000);
        return { totalHits, resetTime: Object.assign(end, { retryAfterSeconds }) };
      } catch (cause) {
        outage.begin(cause);
        metrics.countLimited('outside', 'failed');
        throw cause;
      }
    },
    decrement: (address) => store.decrement(address),
    resetKey: (address) => store.resetKey(address),
  };
}

const secondsUntil = (time: Date): number => Math.max(1, Math.ceil((time.getTime() - Date.now()) / 1_000));

/**
 * Runs the package's scripts by hash, and by their text if Redis does not know the hash. The package itself would load
 * them at process start, when Redis may be unavailable, and needs a Redis user with the right to load scripts.
 */
function scriptsOf(redis: CeilingServices['queueRedis']) {
  const scripts = new Map<string, Script>();
  return async (command: string, ...args: string[]): Promise<string | number[]> => {
    if (command === 'SCRIPT') {
      const script = scriptOf('rate-limit-redis', args[1]!);
      scripts.set(script.sha, script);
      return script.sha;
    }
    const [sha = '', , key = '', windowMs = ''] = args;
    const script = scripts.get(sha);
    if (command !== 'EVALSHA' || script === undefined) throw new Error(`${command} is not expected`);
    return (await runScript(redis, script, [key], [windowMs])) as number[];
  };
}

const inTime = <Result>(answer: Promise<Result>): Promise<Result> =>
  withTimeLimit(PATIENCE_MS, answer, () => {
    throw new Error('Redis does not answer in time');
  });
