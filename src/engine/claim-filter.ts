/** The claim filter of the engine: its load, its copies outside Redis, and its replacement while trading goes on. */

import { claimOfUsed, type UsedId } from './claims.ts';
import type { EngineCore } from './core.ts';
import {
  FILTER_PART_BYTES,
  FilterBits,
  type FilterLoad,
  filterKeys,
  LARGEST_FILTER_BYTES,
  loadOf,
  writeFilterState,
} from './filter-layout.ts';
import { FilterRebuild, type FilterRebuilt, type FilterSource, fillFilter } from './filter-rebuild.ts';

/** Bytes copied by one command. */
const PIECE_BYTES = 64 * 1024;
/** Bytes of the filter kept in this process at once. */
const STRETCH_BYTES = 128 * 1024 * 1024;
/** Pieces of the filter that tell its load. */
const SAMPLES = 16;
const SAMPLE_BYTES = 4096;

/** A stretch of the filter in force, as it was when it was copied. */
interface FilterCopy {
  /** True when the engine takes the id for used; undefined when the id lies in another stretch. */
  has(used: UsedId): boolean | undefined;
}

/** The field of the recent claims that an id is kept under. */
export const claimName = (used: UsedId): string => claimOfUsed(used).field.toString('hex');

/** The claim filter of the engine: its load, its copies, and its replacement. */
export class EngineClaimFilter {
  readonly #core: EngineCore;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /**
   * Estimates the load of the filter from 64 KiB of it, evenly spread from a random place on. Some 8,000 blocks tell the
   * load to a hundredth.
   */
  async load(): Promise<FilterLoad> {
    const { current } = await this.#core.readFilter();
    const keys = filterKeys(current);
    const stride = Math.max(SAMPLE_BYTES, current.bytes / SAMPLES);
    const phase = Math.floor((Math.random() * stride) / SAMPLE_BYTES) * SAMPLE_BYTES;
    const samples: Buffer[] = [];
    for (let at = phase; at < current.bytes; at += stride) {
      const offset = at % FILTER_PART_BYTES;
      const key = keys[Math.floor(at / FILTER_PART_BYTES)]!;
      const found = await this.#core.call(() =>
        this.#core.redis.getrangeBuffer(key, offset, offset + SAMPLE_BYTES - 1),
      );
      // A string ends where its last bit was set.
      samples.push(Buffer.concat([found], SAMPLE_BYTES));
    }
    return loadOf(current, samples);
  }

  /**
   * Replaces the filter by one of the size that this process is set to, filled anew from Postgres, while trading goes
   * on. The new filter is allocated first and made known; from then on each claim goes into both. Ids of before are
   * settled soon: once Postgres has them, its ids are put into the new filter piece by piece. Then one script puts it in
   * force. A rebuild that broke off leaves the old filter in force; the next one removes what is left. Of two at once the
   * later one goes on and the other is refused.
   * @throws OperatorRefusal REBUILD_REPLACED when another one began meanwhile; Refusal SERVICE_UNAVAILABLE
   */
  async rebuild(source: FilterSource): Promise<FilterRebuilt> {
    const rebuild = await FilterRebuild.begin(this.#core);
    let usedIds: number;
    try {
      await source.untilSettled(rebuild.sequence);
      usedIds = await fillFilter(rebuild.next, () => source.usedIds(), rebuild.merge);
    } catch (error) {
      await rebuild.abandon();
      throw error;
    }
    // The outcome may stay unknown. Then both filters stay, and the next rebuild removes the one that is not in force.
    await rebuild.putInForce();
    return { ...(await this.load()), formerBytes: rebuild.former.bytes, usedIds };
  }

  /** Returns the name of the filter in force; null when no filter can have that name. */
  async name(): Promise<string | null> {
    const { text, current, next } = await this.#core.readFilter();
    const isLayout = [current, next ?? current].every(
      ({ bytes }) => Number.isInteger(Math.log2(bytes)) && bytes <= LARGEST_FILTER_BYTES,
    );
    return isLayout && (text === '' || text === writeFilterState(current, next)) ? text : null;
  }

  /** Copies the filter in force stretch by stretch; each stretch tells of the ids that lie in it. */
  async *copy(): AsyncGenerator<FilterCopy> {
    const { current } = await this.#core.readFilter();
    const keys = filterKeys(current);
    for (let from = 0; from < current.bytes; from += STRETCH_BYTES) {
      const bits = new FilterBits(current, from, Math.min(STRETCH_BYTES, current.bytes - from));
      for (let at = 0; at < bits.bytes.length; at += PIECE_BYTES) {
        const key = keys[Math.floor((from + at) / FILTER_PART_BYTES)]!;
        const offset = (from + at) % FILTER_PART_BYTES;
        const end = offset + Math.min(PIECE_BYTES, bits.bytes.length - at) - 1;
        const piece = await this.#core.call(() => this.#core.redis.getrangeBuffer(key, offset, end));
        // A string ends where its last bit was set.
        piece.copy(bits.bytes, at);
      }
      yield { has: (used) => bits.has(claimOfUsed(used)) };
    }
  }
}
