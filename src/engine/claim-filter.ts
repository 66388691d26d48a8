/** The engine's claim filter: its load, its copies outside Redis, and its replacement while trading continues. */

import { claimOfUsed, reversalClaim, type UsedId } from './claims.ts';
import type { EngineCore } from './core.ts';
import {
  FILTER_PART_BYTES,
  FilterBits,
  type FilterLoad,
  filterKeys,
  loadOf,
  MAX_FILTER_BYTES,
  writeFilterState,
} from './filter-layout.ts';
import { FilterRebuild, type FilterRebuilt, type FilterSource, fillFilter } from './filter-rebuild.ts';

/** Bytes copied by one command. */
const PIECE_BYTES = 64 * 1024;
/** Bytes of the filter kept in this process at once. */
const STRETCH_BYTES = 128 * 1024 * 1024;
/** Number of pieces sampled to estimate the load. */
const SAMPLES = 16;
const SAMPLE_BYTES = 4096;

/** A stretch of the filter in force, as it was when it was copied. */
interface FilterCopy {
  /** Returns true if the engine treats the id as used; undefined if the id lies in another stretch. */
  has(used: UsedId): boolean | undefined;
  /** Number of bits that are set. */
  readonly ones: number;
}

/** Returns the field that stores the id in the hash of recent claims. */
export const claimName = (used: UsedId): string => claimOfUsed(used).field.toString('hex');

/** Returns the field that stores the reversal of a movement by one of a kind. */
export const reversalName = (reversed: string, by: 'credited' | 'debited'): string =>
  reversalClaim(reversed, by).field.toString('hex');

/** The claim filter of the engine: its load, its copies, and its replacement. */
export class EngineClaimFilter {
  readonly #core: EngineCore;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /**
   * Estimates the load of the filter from 64 KiB of it, evenly spaced from a random start. Some 8,000 blocks give the
   * load to within a hundredth.
   */
  async load(): Promise<FilterLoad> {
    const { current } = await this.#core.filter.read();
    const keys = filterKeys(current);
    const stride = Math.max(SAMPLE_BYTES, current.bytes / SAMPLES);
    const phase = Math.floor((Math.random() * stride) / SAMPLE_BYTES) * SAMPLE_BYTES;
    const samples: Buffer[] = [];
    for (let at = phase; at < current.bytes; at += stride) {
      const offset = at % FILTER_PART_BYTES;
      const key = keys[Math.floor(at / FILTER_PART_BYTES)]!;
      const found = await this.#core.scripts.call(() =>
        this.#core.redis.getrangeBuffer(key, offset, offset + SAMPLE_BYTES - 1),
      );
      // A string ends where its last bit was set.
      samples.push(Buffer.concat([found], SAMPLE_BYTES));
    }
    return loadOf(current, samples);
  }

  /**
   * Replaces the filter while trading continues. The new filter has the size that this process is configured with and
   * is filled from Postgres.
   *
   * First the new filter is allocated and published. From then on each claim is written to both filters. Once Postgres
   * has all earlier ids, its ids are written to the new filter piece by piece. Then one script puts it in force.
   *
   * A rebuild that breaks off leaves the old filter in force; the next rebuild removes its remains. When two rebuilds
   * run at once, the later one continues and the other one is refused.
   * @throws OperatorRefusal REBUILD_REPLACED when another rebuild began meanwhile; Refusal SERVICE_UNAVAILABLE
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
    // If the outcome stays unknown, both filters stay. The next rebuild removes the one that is not in force.
    await rebuild.putInForce();
    return { ...(await this.load()), formerBytes: rebuild.former.bytes, usedIds };
  }

  /** Returns the name of the filter in force; null when no filter can have that name. */
  async name(): Promise<string | null> {
    const { text, current, next } = await this.#core.filter.read();
    const isLayout = [current, next ?? current].every(
      ({ bytes }) => Number.isInteger(Math.log2(bytes)) && bytes <= MAX_FILTER_BYTES,
    );
    return isLayout && (text === '' || text === writeFilterState(current, next)) ? text : null;
  }

  /** Copies the filter in force stretch by stretch. Each copy answers for the ids in its stretch. */
  async *copy(): AsyncGenerator<FilterCopy> {
    const { current } = await this.#core.filter.read();
    const keys = filterKeys(current);
    for (let from = 0; from < current.bytes; from += STRETCH_BYTES) {
      const bits = new FilterBits(current, from, Math.min(STRETCH_BYTES, current.bytes - from));
      for (let at = 0; at < bits.bytes.length; at += PIECE_BYTES) {
        const key = keys[Math.floor((from + at) / FILTER_PART_BYTES)]!;
        const offset = (from + at) % FILTER_PART_BYTES;
        const end = offset + Math.min(PIECE_BYTES, bits.bytes.length - at) - 1;
        const piece = await this.#core.scripts.call(() => this.#core.redis.getrangeBuffer(key, offset, end));
        // A string ends where its last bit was set.
        piece.copy(bits.bytes, at);
      }
      yield { has: (used) => bits.has(claimOfUsed(used)), ones: bits.ones };
    }
  }
}
