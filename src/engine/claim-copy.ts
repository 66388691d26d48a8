/** Copies the claim filter out of the engine in small pieces, so that ids are looked up without a script. */

import {
  FILTER_PART_BYTES,
  FilterBits,
  filterKeys,
  LARGEST_FILTER_BYTES,
  writeFilterState,
} from './claim-filter.ts';
import { claimOfUsed, type UsedId } from './claims.ts';
import type { EngineCore } from './core.ts';

/** Bytes copied by one command. */
const PIECE_BYTES = 64 * 1024;
/** Bytes of the filter kept in this process at once. */
const STRETCH_BYTES = 128 * 1024 * 1024;

/** A stretch of the filter in force, as it was when it was copied. */
export interface FilterCopy {
  /** True when the engine takes the id for used; undefined when the id lies in another stretch. */
  has(used: UsedId): boolean | undefined;
}

/** The field of the recent claims that an id is kept under. */
export const claimName = (used: UsedId): string => claimOfUsed(used).field.toString('hex');

/** The filter in force as the engine names it; null when its name is no layout. */
export async function filterName(core: EngineCore): Promise<string | null> {
  const { text, current, next } = await core.readFilter();
  const isLayout = [current, next ?? current].every(
    ({ bytes }) => Number.isInteger(Math.log2(bytes)) && bytes <= LARGEST_FILTER_BYTES,
  );
  return isLayout && (text === '' || text === writeFilterState(current, next)) ? text : null;
}

export async function* copyClaimFilter(core: EngineCore): AsyncGenerator<FilterCopy> {
  const { current } = await core.readFilter();
  const keys = filterKeys(current);
  for (let from = 0; from < current.bytes; from += STRETCH_BYTES) {
    const bits = new FilterBits(current, from, Math.min(STRETCH_BYTES, current.bytes - from));
    for (let at = 0; at < bits.bytes.length; at += PIECE_BYTES) {
      const key = keys[Math.floor((from + at) / FILTER_PART_BYTES)]!;
      const offset = (from + at) % FILTER_PART_BYTES;
      const piece = await core.call(() =>
        core.redis.getrangeBuffer(key, offset, offset + Math.min(PIECE_BYTES, bits.bytes.length - at) - 1),
      );
      // A string ends where its last bit was set.
      piece.copy(bits.bytes, at);
    }
    yield { has: (used) => bits.has(claimOfUsed(used)) };
  }
}
