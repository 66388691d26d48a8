/** The engine's claim filter: its load, its growth, and its copies outside Redis. */

import type { MovementKind } from '../domain/event.ts';
import { claimOfUsed, reversalClaim, type UsedId } from './claims.ts';
import type { EngineCore } from './core.ts';
import { addFilter } from './filter-growth.ts';
import {
  BYTES_PER_ID,
  FILTER_PART_BYTES,
  FilterBits,
  type FilterLayout,
  type FilterLoad,
  filterKeys,
  layoutsOf,
  loadOf,
  loadOfAll,
  MAX_FILTER_BYTES,
  writeFilterState,
} from './filter-layout.ts';

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
export const reversalName = (reversed: string, by: MovementKind): string =>
  reversalClaim(reversed, by).field.toString('hex');

/** The claim filter of the engine: its load, its growth, and its copies. */
export class EngineClaimFilter {
  readonly #core: EngineCore;
  /** Loads of sealed filters by their serial numbers. */
  readonly #sealed = new Map<number, FilterLoad>();

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /**
   * Estimates the load of the filters, each from 64 KiB of it, evenly spaced from a random start. Some 8,000 blocks give
   * the load to within a hundredth. A sealed filter is read once.
   */
  async load(): Promise<FilterLoad> {
    const { current, sealed } = await this.#core.filter.read();
    for (const layout of sealed)
      if (!this.#sealed.has(layout.serial)) this.#sealed.set(layout.serial, await this.#loadOf(layout));
    return loadOfAll([...sealed.map(({ serial }) => this.#sealed.get(serial)!), await this.#loadOf(current)]);
  }

  /**
   * Seals the filter in force when its ids pass two bytes each, and puts a larger one in force.
   * @returns the size of the new filter; null when none was needed
   * @throws OperatorRefusal ENGINE_TOO_SMALL; Refusal SERVICE_UNAVAILABLE
   */
  async grow(): Promise<number | null> {
    const state = await this.#core.filter.read();
    const { ids } = await this.#loadOf(state.current);
    if (ids * BYTES_PER_ID < state.current.bytes) return null;
    return (await addFilter(this.#core, state))?.bytes ?? null;
  }

  async #loadOf(layout: FilterLayout): Promise<FilterLoad> {
    const keys = filterKeys(layout);
    // A filter of a test may be smaller than a sample.
    const length = Math.min(SAMPLE_BYTES, layout.bytes);
    const stride = Math.max(length, layout.bytes / SAMPLES);
    const phase = Math.floor((Math.random() * stride) / length) * length;
    const samples: Buffer[] = [];
    for (let at = phase; at < layout.bytes; at += stride) {
      const offset = at % FILTER_PART_BYTES;
      const key = keys[Math.floor(at / FILTER_PART_BYTES)]!;
      const found = await this.#core.scripts.call(() =>
        this.#core.redis.getrangeBuffer(key, offset, offset + length - 1),
      );
      // A string ends where its last bit was set.
      samples.push(Buffer.concat([found], length));
    }
    return loadOf(layout, samples);
  }

  /** Returns the name of the filter in force; null when no filter can have that name. */
  async name(): Promise<string | null> {
    const state = await this.#core.filter.read();
    const { text, current, sealed } = state;
    const isLayout = layoutsOf(state).every(
      ({ bytes }) => Number.isInteger(Math.log2(bytes)) && bytes <= MAX_FILTER_BYTES,
    );
    return isLayout && (text === '' || text === writeFilterState(current, sealed)) ? text : null;
  }

  /**
   * Copies the filter in force and the sealed ones stretch by stretch. Each copy answers for the ids in its stretch. The
   * blocks of a stretch of the largest filter, which is the one in force, are one stretch of each smaller one.
   */
  async *copy(): AsyncGenerator<FilterCopy> {
    const { current, sealed } = await this.#core.filter.read();
    const layouts = [current, ...sealed];
    const together = 2 ** Math.ceil(Math.log2(layouts.length));
    const length = Math.min(current.bytes, Math.max(PIECE_BYTES, STRETCH_BYTES / together));
    for (let from = 0; from < current.bytes; from += length) {
      const copies: FilterBits[] = [];
      for (const layout of layouts)
        copies.push(await this.#copyOf(layout, from % layout.bytes, Math.min(length, layout.bytes)));
      // A stretch of a smaller filter comes again; its bits count once.
      const counted = copies.filter((_bits, at) => from < layouts[at]!.bytes);
      yield {
        ones: counted.reduce((sum, { ones }) => sum + ones, 0),
        has(used) {
          const claim = claimOfUsed(used);
          const inForce = copies[0]!.has(claim);
          return inForce === false ? copies.some((bits) => bits.has(claim) === true) : inForce;
        },
      };
    }
  }

  async #copyOf(layout: FilterLayout, from: number, length: number): Promise<FilterBits> {
    const keys = filterKeys(layout);
    const bits = new FilterBits(layout, from, length);
    for (let at = 0; at < length; at += PIECE_BYTES) {
      const key = keys[Math.floor((from + at) / FILTER_PART_BYTES)]!;
      const offset = (from + at) % FILTER_PART_BYTES;
      const end = offset + Math.min(PIECE_BYTES, length - at) - 1;
      const piece = await this.#core.scripts.call(() => this.#core.redis.getrangeBuffer(key, offset, end));
      // A string ends where its last bit was set.
      piece.copy(bits.bytes, at);
    }
    return bits;
  }
}
