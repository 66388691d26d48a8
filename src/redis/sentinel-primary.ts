/**
 * Connects to the primary that Sentinels name. ioredis' own connector keeps listening for `+switch-master` while it
 * reconnects, and then treats the message as an order to close. The connection ends for good, and its process counts no
 * request and receives no frame until a restart. Here each attempt has its own listener, and the previous one is
 * disconnected.
 */

import {
  AbstractConnector,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';

/** A `Connector` for ioredis that takes the Sentinel options of ioredis. */
export class SentinelPrimaryConnector extends AbstractConnector {
  readonly #options: SentinelConnectionOptions;
  #attempt: SentinelConnector;

  constructor(options: unknown) {
    super((options as RedisOptions).disconnectTimeout!);
    this.#options = options as SentinelConnectionOptions;
    this.#attempt = new SentinelConnector(this.#options);
  }

  /** Rejects replicas. A Sentinel that has missed a failover may name one. */
  override check(info: { role?: string }): boolean {
    return this.#attempt.check(info);
  }

  override async connect(tell: (event: string, error: Error) => void) {
    this.#attempt.disconnect();
    this.#attempt = new SentinelConnector(this.#options);
    const stream = await this.#attempt.connect(tell);
    stream.once('error', (error) => {
      this.firstError = error;
    });
    return stream;
  }

  override disconnect(): void {
    this.#attempt.disconnect();
  }
}
