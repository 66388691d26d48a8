/** Which claim filters are in force, as this process read it last. */

import type { Redis } from 'ioredis';
import { DEFAULT_FILTER_BYTES, type FilterState, readFilterState } from './filter-layout.ts';
import { KEYS } from './keys.ts';
import type { ScriptRunner } from './script-runner.ts';

export class FilterInForce {
  readonly #redis: Redis;
  readonly #scripts: ScriptRunner;
  /** Bytes of the next filter that is made. */
  readonly nextBytes: number;
  #state: FilterState = readFilterState(null);

  constructor(redis: Redis, scripts: ScriptRunner, nextBytes = DEFAULT_FILTER_BYTES) {
    this.#redis = redis;
    this.#scripts = scripts;
    this.nextBytes = nextBytes;
  }

  /** Claim filters as last read; a script that finds them outdated says so. */
  get state(): FilterState {
    return this.#state;
  }

  /** @param text field `filter` of the engine hash */
  adopt(text: string | null): FilterState {
    this.#state = readFilterState(text);
    return this.#state;
  }

  /** Asks the engine which claim filters are in force. */
  async read(): Promise<FilterState> {
    const [text] = await this.#scripts.call(() => this.#redis.hmget(KEYS.engine, 'filter'));
    return this.adopt(text ?? null);
  }
}
