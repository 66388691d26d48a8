/** Which claim filters are in force, as this process read it last. */

import type { Redis } from 'ioredis';
import type { Claim } from './claims.ts';
import {
  DEFAULT_FILTER_BYTES,
  type FilterState,
  hasBits,
  lastByte,
  placeInFilter,
  readFilterState,
} from './filter-layout.ts';
import { KEYS } from './keys.ts';
import type { ScriptRunner } from './script-runner.ts';
import { readState } from './state.ts';

/** Answer of the sealed filters for an id. */
export interface SealedLook {
  /** The filters that were looked at. A command that relies on the look must be refused where others are in force. */
  readonly filter: FilterState;
  /** Time of the engine's last event before the look; null where no sealed filter has the id. */
  readonly timeMs: number | null;
}

export class FilterInForce {
  readonly #redis: Redis;
  readonly #scripts: ScriptRunner;
  /** Bytes of the next filter that is made. */
  readonly nextBytes: number;
  #state: FilterState = readFilterState(null);
  /** The look of an id in no sealed filter. */
  #unread: SealedLook = { filter: this.#state, timeMs: null };

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
    this.#unread = { filter: this.#state, timeMs: null };
    return this.#state;
  }

  /** Returns the look of every id while no filter is sealed, without a read; undefined if the sealed ones must be read. */
  withoutSealed(): SealedLook | undefined {
    return this.#state.sealed.length === 0 ? this.#unread : undefined;
  }

  /**
   * Looks an id up in the sealed filters. These never change, so the scripts need not look there again. Without sealed
   * filters nothing is read. With them, commands without an id wait as well, so that commands keep their order.
   */
  async lookInSealed(claim: Claim | null): Promise<SealedLook> {
    const filter = this.#state;
    if (filter.sealed.length === 0) return this.#unread;
    const reading = this.#redis.pipeline().hgetBuffer(KEYS.engine, 'state');
    if (claim !== null)
      for (const layout of filter.sealed) {
        const { key, offset } = placeInFilter(claim, layout);
        reading.getrangeBuffer(key, offset, lastByte(offset));
      }
    const [state, ...blocks] = await this.#scripts.call(async () =>
      ((await reading.exec()) ?? []).map(([error, value]) => {
        if (error) throw error;
        return value as Buffer;
      }),
    );
    const isMaybeUsed = claim !== null && blocks.some((block) => hasBits(claim, block));
    return { filter, timeMs: isMaybeUsed ? readState(state).time : null };
  }

  /** Asks the engine which claim filters are in force. */
  async read(): Promise<FilterState> {
    const [text] = await this.#scripts.call(() => this.#redis.hmget(KEYS.engine, 'filter'));
    return this.adopt(text ?? null);
  }
}
