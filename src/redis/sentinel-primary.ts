/**
 * The way to the primary that Sentinels name. ioredis' own goes on listening for `+switch-master` while it connects
 * anew, and hears it then as an order to close: the connection ends for good, and its process counts no request and
 * hears no frame until it is started again. Here each attempt has a listener of its own, and the last one's is silent.
 */

import {
  AbstractConnector,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';

/** A `Connector` of ioredis, for its options of Sentinels. */
export class SentinelPrimaryConnector extends AbstractConnector {
  readonly #options: SentinelConnectionOptions;
  #attempt: SentinelConnector;

  constructor(options: unknown) {
    super((options as RedisOptions).disconnectTimeout!);
    this.#options = options as SentinelConnectionOptions;
    this.#attempt = new SentinelConnector(this.#options);
  }

  /** A Sentinel that has not heard yet may send us to a replica. */
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
