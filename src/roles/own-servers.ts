/** Loads the embedded servers on demand. Images omit them, because roles in images use given servers. */

import type { Config } from '../config.ts';
import type { ServedConfig } from './served-config.ts';

/** Adds the addresses of own servers to the configuration, which may name others. */
export function servedBy(
  config: Config,
  embedded: Pick<ServedConfig, 'redisUrl' | 'queueRedisUrl' | 'databaseUrl'>,
): ServedConfig {
  const { redisUrl, queueRedisUrl, databaseUrl } = embedded;
  const own = {
    redis: config.redisUrl === undefined,
    queue: queueRedisUrl !== undefined && config.queueRedisUrl === undefined,
    postgres: config.databaseUrl === undefined,
  };
  return { redisUrl, ...(queueRedisUrl && { queueRedisUrl }), databaseUrl, ...config, own };
}

type Embedded = typeof import('../embedded/index.ts');

/** @returns undefined if the installation has no `src/embedded` */
export async function loadEmbedded(): Promise<Embedded | undefined> {
  try {
    return await import('../embedded/index.ts');
  } catch (error) {
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

/** True if `src/embedded` is missing. A missing package is another error, which keeps its own message. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  /embedded.index\.[jt]s'/.test(error.message);
