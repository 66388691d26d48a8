/** Fills the claim filter of a rebuilt engine, and adds a filter to an engine whose filter is full. */

import { OperatorRefusal } from '../domain/errors.ts';
import { claimOfUsed, type UsedId } from './claims.ts';
import type { EngineCore } from './core.ts';
import {
  FILTER_PART_BYTES,
  FilterBits,
  type FilterLayout,
  type FilterState,
  filterKeys,
  MAX_FILTER_BYTES,
  writeFilterState,
} from './filter-layout.ts';
import { SET_FILTER } from './scripts.ts';

/** Bytes of the filter written by one command. */
const PIECE_BYTES = 64 * 1024;
/**
 * Bytes of the filter kept in this process. For a larger filter, the ids are read once for each stretch of this length.
 */
const STRETCH_BYTES = 128 * 1024 * 1024;
const NOTHING = Buffer.alloc(PIECE_BYTES);
/** Share of the server's memory limit that a new filter may fill: orders need the rest. */
const MEMORY_SHARE = 0.9;
/** Longest text of the filters that a call of the placing script can carry. */
const MAX_TEXT = 255;

/**
 * Writes the bits of all ids in pieces, without the empty ones.
 * @returns the number of ids
 */
export async function fillFilter(
  layout: FilterLayout,
  usedIds: () => AsyncIterable<UsedId>,
  write: (key: string, offset: number, piece: Buffer) => Promise<void>,
): Promise<number> {
  const keys = filterKeys(layout);
  let count = 0;
  for (let from = 0; from < layout.bytes; from += STRETCH_BYTES) {
    const bits = new FilterBits(layout, from, Math.min(STRETCH_BYTES, layout.bytes - from));
    count = 0;
    for await (const used of usedIds()) {
      bits.add(claimOfUsed(used));
      count += 1;
    }
    for (let at = 0; at < bits.bytes.length; at += PIECE_BYTES) {
      const piece = bits.bytes.subarray(at, at + PIECE_BYTES);
      if (piece.equals(NOTHING.subarray(0, piece.length))) continue;
      const key = keys[Math.floor((from + at) / FILTER_PART_BYTES)]!;
      await write(key, (from + at) % FILTER_PART_BYTES, piece);
    }
  }
  return count;
}

/**
 * Seals the filter in force and puts an empty one in force: of twice the size, or of the same where memory does not allow
 * more. The script compares the filters with those that were found full, so one of several processes succeeds.
 * @returns the new filter; null where another process was faster
 * @throws OperatorRefusal ENGINE_TOO_SMALL; Refusal SERVICE_UNAVAILABLE
 */
export async function addFilter(
  core: EngineCore,
  { text, current, sealed }: FilterState,
): Promise<FilterLayout | null> {
  const { epoch } = core.lifecycle;
  const bytes = await checkMemory(core, Math.min(current.bytes * 2, MAX_FILTER_BYTES), current.bytes);
  const added: FilterLayout = { serial: current.serial + 1, bytes };
  const all = writeFilterState(added, [...sealed, current]);
  if (all.length > MAX_TEXT)
    throw tooSmall(
      "there are too many claim filters: 'ledger rebuild' into an empty Redis makes one of them",
    );
  if (core.lifecycle.epoch !== epoch) return null;
  if (!(await core.scripts.run(SET_FILTER, { epoch, presentLayout: text, newLayout: all }))) return null;
  await core.filter.read();
  await allocate(core, added);
  return added;
}

const tooSmall = (message: string): OperatorRefusal => new OperatorRefusal('ENGINE_TOO_SMALL', message);

/**
 * @param sizes of a new filter, the best first
 * @returns the first one that fits
 * @throws OperatorRefusal ENGINE_TOO_SMALL
 */
async function checkMemory(core: EngineCore, ...sizes: number[]): Promise<number> {
  const info = await core.scripts.call(() => core.redis.info('memory'));
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const used = read('used_memory');
  const limit = read('maxmemory');
  const size = sizes.find((bytes) => limit === 0 || used + bytes <= limit * MEMORY_SHARE);
  if (size !== undefined) return size;
  throw tooSmall(
    `the engine's Redis uses ${used} of ${limit} bytes (maxmemory): a second filter of ${sizes.at(-1)} does not fit beside`,
  );
}

/**
 * Extends each string to its full length, so that no later command has to copy it. Adding zero to the last bit keeps
 * what commands have written meanwhile.
 */
async function allocate(core: EngineCore, layout: FilterLayout): Promise<void> {
  const lastBit = Math.min(layout.bytes, FILTER_PART_BYTES) * 8 - 1;
  for (const key of filterKeys(layout))
    await core.scripts.call(() => core.redis.bitfield(key, 'INCRBY', 'u1', lastBit, 0));
}
