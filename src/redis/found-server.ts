/** Connects to a server that is looked up again before each connection. */

import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AbstractConnector, type Redis, type RedisOptions } from 'ioredis';
import type { HostPort } from './address.ts';

/**
 * Looks once for the server.
 * @param isWanted returns false when nobody waits for the connection any more
 * @param tell reports why a server that was asked could not tell
 */
export type Find = (isWanted: () => boolean, tell: (error: Error) => void) => Promise<HostPort | undefined>;

interface FoundServerOptions {
  readonly find: Find;
  readonly pauseMs: (attempt: number) => number;
  readonly tls?: ConnectionOptions | undefined;
}

/** Endpoints by the sockets of the connections to them. */
const endpoints = new WeakMap<object, HostPort>();

/** Notes the endpoint to which the socket of a connection leads. */
export const leadsTo = (socket: object, endpoint: HostPort): unknown => endpoints.set(socket, endpoint);

/** Returns the endpoint of a connection by `foundServerConnector`; undefined while there is none. */
export const endpointOf = ({ stream }: Redis): HostPort | undefined => stream && endpoints.get(stream);

/** Makes a `Connector` for ioredis. */
export function foundServerConnector(options: FoundServerOptions): NonNullable<RedisOptions['Connector']> {
  const { find, pauseMs, tls } = options;
  return class FoundServerConnector extends AbstractConnector {
    constructor(redisOptions: unknown) {
      super((redisOptions as { disconnectTimeout: number }).disconnectTimeout);
    }

    /** Rejects replicas. A server with outdated information may name one. */
    override check(info: { role?: string }): boolean {
      return info.role === undefined || info.role === 'master';
    }

    override async connect(tell: (event: string, error: Error) => void) {
      this.connecting = true;
      const endpoint = await this.#find((error) => tell('error', error));
      const { host, port } = endpoint;
      this.stream = tls ? connectTls({ host, port, ...tls }) : createConnection({ host, port });
      leadsTo(this.stream, endpoint);
      this.stream.once('error', (error) => {
        this.firstError = error;
      });
      return this.stream;
    }

    /** Retries without a limit, because ioredis does not reconnect after a connector has failed. */
    async #find(tell: (error: Error) => void): Promise<HostPort> {
      for (let attempt = 1; ; attempt += 1) {
        const found = await find(() => this.connecting, tell);
        if (!this.connecting) throw new Error('Connection is closed.');
        if (found !== undefined) return found;
        await sleep(pauseMs(attempt));
      }
    }
  };
}
