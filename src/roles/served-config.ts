/** Configuration of a process with the addresses of its servers. */

import type { ConfigOf } from '../config.ts';

interface OwnServers {
  /** Servers that no setting names, because the all-in-one starts them. */
  readonly own?: { readonly redis: boolean; readonly queue: boolean; readonly postgres: boolean };
}

export type RedisConfig = ConfigOf<'stream'> & OwnServers;

/** Configuration of a process that uses Redis and Postgres. */
export type ServedConfig = ConfigOf<'settlement'> & OwnServers;
