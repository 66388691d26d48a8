/** Fills the claim filter from Postgres, for a rebuilt engine and for a replacement while trading continues. */

import { OperatorRefusal } from '../domain/errors.ts';
import { claimOfUsed, type UsedId } from './claims.ts';
import type { EngineCore } from './core.ts';
import {
  FILTER_PART_BYTES,
  FilterBits,
  type FilterLayout,
  type FilterLoad,
  type FilterState,
  filterKeys,
  layoutsOf,
  MAX_FILTER_BYTES,
  writeFilterState,
} from './filter-layout.ts';
import { MERGE_FILTER, NUMBER_FILTER, SET_FILTER } from './scripts.ts';

/** Source of the ids. */
export interface FilterSource {
  /** Resolves once Postgres has every event up to this one. */
  untilSettled(sequence: number): Promise<void>;
  /** Yields every id that Postgres has when it is called, in no order. May be called several times. */
  usedIds(): AsyncIterable<UsedId>;
}

export interface FilterRebuilt extends FilterLoad {
  readonly formerBytes: number;
  /** Number of ids in Postgres. */
  readonly usedIds: number;
}

/** Bytes of the filter written by one command. */
const PIECE_BYTES = 64 * 1024;
/**
 * Bytes of the filter kept in this process. For a larger filter, the ids are read once for each stretch of this length.
 */
const STRETCH_BYTES = 128 * 1024 * 1024;
const NOTHING = Buffer.alloc(PIECE_BYTES);
/** Number of earlier generations whose abandoned filters are looked for. */
const GENERATIONS_SWEPT = 8;
/** Bytes of each of them that are looked for. */
const SWEPT_BYTES = 1024 ** 3;
/** Share of the server's memory limit that a new filter may fill: orders need the rest. */
const MEMORY_SHARE = 0.9;

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

const replaced = (): OperatorRefusal =>
  new OperatorRefusal(
    'REBUILD_REPLACED',
    'another rebuild of the claim filter began, or the engine was started again: this one ends, nothing is lost',
  );

/** A filter that is filled beside the one in force; see `EngineClaimFilter.rebuild`. */
export class FilterRebuild {
  readonly #core: EngineCore;
  /** Epoch of the server that has the filter; a server that took over may lack pieces. */
  readonly #epoch: number;
  readonly former: FilterState;
  readonly next: FilterLayout;
  /** Sequence of the last event whose id may be only in the former filter. */
  readonly sequence: number;

  private constructor(
    core: EngineCore,
    parts: Pick<FilterRebuild, 'former' | 'next' | 'sequence'> & { epoch: number },
  ) {
    this.#core = core;
    this.#epoch = parts.epoch;
    this.former = parts.former;
    this.next = parts.next;
    this.sequence = parts.sequence;
  }

  static async begin(core: EngineCore): Promise<FilterRebuild> {
    const { epoch } = core.lifecycle;
    const { nextBytes: bytes } = core.filter;
    await checkMemory(core, bytes);
    const generation = await core.scripts.run(NUMBER_FILTER, { epoch });
    if (generation === null) throw replaced();
    const next: FilterLayout = { generation, bytes };
    try {
      await allocate(core, next);
      const former = await core.filter.read();
      if (former.next !== null && former.next.generation > generation) throw replaced();
      const beside = writeFilterState(former.current, next, former.sealed);
      const sequence = await exchange(core, epoch, former.text, beside);
      const rebuild = new FilterRebuild(core, { epoch, former, next, sequence });
      await rebuild.#sweep();
      return rebuild;
    } catch (error) {
      await deleteFilters(core, [next]);
      throw error;
    }
  }

  get #text(): string {
    return writeFilterState(this.former.current, this.next, this.former.sealed);
  }

  readonly merge = async (key: string, offset: number, piece: Buffer): Promise<void> => {
    checkEpoch(this.#core, this.#epoch);
    const isCurrent = await this.#core.scripts.run(MERGE_FILTER, {
      filter: key,
      epoch: this.#epoch,
      filterLayout: this.#text,
      offset,
      bits: piece,
    });
    if (!isCurrent) throw replaced();
  };

  async putInForce(): Promise<void> {
    await exchange(this.#core, this.#epoch, this.#text, writeFilterState(this.next));
    await deleteFilters(this.#core, [this.former.current, ...this.former.sealed]);
  }

  /** Removes the new filter, if the engine can be reached. */
  async abandon(): Promise<void> {
    const { current, sealed } = this.former;
    const before = writeFilterState(current, null, sealed);
    await exchange(this.#core, this.#epoch, this.#text, before).catch(() => undefined);
    await deleteFilters(this.#core, [this.next]);
  }

  /** Removes what earlier rebuilds left. None of them can continue, because this one is published now. */
  async #sweep(): Promise<void> {
    const { generation } = this.next;
    const earlier = Array.from({ length: GENERATIONS_SWEPT }, (_, back) => generation - 1 - back);
    await deleteFilters(
      this.#core,
      earlier.filter((one) => one >= 0).map((one) => ({ generation: one, bytes: SWEPT_BYTES })),
    );
  }
}

/** Longest text of the filters that a call of the placing script can carry. */
const MAX_TEXT = 255;

/**
 * Seals the filter in force and puts an empty one in force: of twice the size, or of the same where memory does not allow
 * more.
 * @returns the new filter; null while a rebuild is under way, or where another process was faster
 * @throws OperatorRefusal ENGINE_TOO_SMALL; Refusal SERVICE_UNAVAILABLE
 */
export async function addFilter(core: EngineCore): Promise<FilterLayout | null> {
  const { epoch } = core.lifecycle;
  const { text, current, next, sealed } = await core.filter.read();
  if (next !== null) return null;
  const bytes = await checkMemory(core, Math.min(current.bytes * 2, MAX_FILTER_BYTES), current.bytes);
  const generation = await core.scripts.run(NUMBER_FILTER, { epoch });
  if (generation === null) return null;
  const added: FilterLayout = { generation, bytes };
  const all = writeFilterState(added, null, [...sealed, current]);
  if (all.length > MAX_TEXT)
    throw tooSmall('there are too many claim filters: join them by `redbook claims rebuild`');
  try {
    await allocate(core, added);
    await exchange(core, epoch, text, all);
    await core.filter.read();
    return added;
  } catch (error) {
    await deleteFilters(core, [added]);
    if (error instanceof OperatorRefusal) return null;
    throw error;
  }
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
  const [used, limit] = [read('used_memory'), read('maxmemory')];
  const size = sizes.find((bytes) => limit === 0 || used + bytes <= limit * MEMORY_SHARE);
  if (size !== undefined) return size;
  throw tooSmall(
    `the engine's Redis uses ${used} of ${limit} bytes (maxmemory): a second filter of ${sizes.at(-1)} does not fit beside`,
  );
}

/** Allocates each string at its full length, so that no later command has to copy it to extend it. */
async function allocate(core: EngineCore, layout: FilterLayout): Promise<void> {
  const length = Math.min(layout.bytes, FILTER_PART_BYTES);
  for (const key of filterKeys(layout))
    await core.scripts.call(() => core.redis.setrange(key, length - 1, '\0'));
}

/**
 * Checks the epoch: after a lost connection another server may answer, whose epoch nobody has begun yet. Scripts cannot
 * detect that.
 */
function checkEpoch(core: EngineCore, epoch: number): void {
  if (core.lifecycle.epoch !== epoch) throw replaced();
}

/**
 * Publishes another state of the filters if `expected` is the current one.
 * @returns the engine's last event at that moment
 */
async function exchange(core: EngineCore, epoch: number, expected: string, text: string): Promise<number> {
  checkEpoch(core, epoch);
  const reply = await core.scripts.run(SET_FILTER, { epoch, presentLayout: expected, newLayout: text });
  if (reply === null) throw replaced();
  return reply.sequence;
}

/** Removes the strings of filters that are not in force, as far as the engine can be reached. */
async function deleteFilters(core: EngineCore, layouts: readonly FilterLayout[]): Promise<void> {
  try {
    const kept = new Set(layoutsOf(await core.filter.read()).map(({ generation }) => generation));
    const keys = layouts.filter(({ generation }) => !kept.has(generation)).flatMap(filterKeys);
    if (keys.length > 0) await core.scripts.call(() => core.redis.unlink(...keys));
  } catch {
    // The next rebuild removes them.
  }
}
