/** Configuration of a process, with the addresses of the servers that it uses. */

import type { ConfigOf } from '../config.ts';

interface OwnServers {
  /** Servers that no setting names, because they are the all-in-one's own. */
  readonly own?: { readonly redis: boolean; readonly postgres: boolean };
}

/** A process on the Redis servers alone. */
export type RedisConfig = ConfigOf<'stream'> & OwnServers;

/** A process on Redis and Postgres. */
export type ServedConfig = ConfigOf<'settlement'> & OwnServers;
