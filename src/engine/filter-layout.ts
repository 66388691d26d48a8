/**
 * Layout of the claim filter: a Bloom filter over all ids ever used, in blocks of 64 bits. All bits of an id lie in one
 * block. The filter lies in strings of at most 16 MiB, so that no command allocates or copies more at once.
 *
 * A filter that is full is sealed: it stays as it is, and ids go into a new one that is at least as large.
 *
 * The field `filter` of the engine hash names the filter in force. All processes use that filter, whatever size they
 * are configured with, and scripts refuse a command that was made for another one.
 */

import { BITS_PER_ID, type Claim } from './claims.ts';
import { claimFilterKey } from './keys.ts';

const MIB = 1024 * 1024;
const BLOCK_BYTES = 8;
const BLOCK_BITS = BLOCK_BYTES * 8;

/** Bytes of one string of the filter. */
export const FILTER_PART_BYTES = 16 * MIB;
/** Largest single filter. 32 bits of hash could address one of twice that size. */
export const MAX_FILTER_BYTES = 16_384 * MIB;
/** Gives about one false "maybe" in a hundred at eight million ids. */
export const DEFAULT_FILTER_BYTES = 16 * MIB;

/** At two bytes an id, one new id in a hundred looks like a used one. */
export const BYTES_PER_ID = 2;

/** One filter. Its size is a power of two. */
export interface FilterLayout {
  /** Rises by one with each filter of an engine. */
  readonly serial: number;
  readonly bytes: number;
}

/** The filter in force, and those that were sealed before it. */
export interface FilterState {
  /** Text of the filters in the engine: `serial/bytes`, and `+` and each sealed one's. */
  readonly text: string;
  readonly current: FilterLayout;
  /** The oldest first; each one's size divides the size of those after it. */
  readonly sealed: readonly FilterLayout[];
}

const writeLayout = ({ serial, bytes }: FilterLayout): string => `${serial}/${bytes}`;

export const writeFilterState = (current: FilterLayout, sealed: readonly FilterLayout[] = []): string =>
  [current, ...sealed].map(writeLayout).join('+');

function readLayout(text: string): FilterLayout {
  const [serial, bytes] = text.split('/').map(Number);
  return { serial: serial!, bytes: bytes! };
}

/** @param text null: the engine was never opened */
export function readFilterState(text: string | null): FilterState {
  if (text === null || text === '')
    return { text: '', current: { serial: 0, bytes: DEFAULT_FILTER_BYTES }, sealed: [] };
  const [current, ...sealed] = text.split('+').map(readLayout);
  return { text, current: current!, sealed };
}

/** All filters of a state, whose strings an engine has. */
export const layoutsOf = ({ current, sealed }: FilterState): FilterLayout[] => [current, ...sealed];

/** The keys of a filter's strings, in the order of their bytes. */
export const filterKeys = ({ serial, bytes }: FilterLayout): string[] =>
  Array.from({ length: Math.ceil(bytes / FILTER_PART_BYTES) }, (_, part) => claimFilterKey(serial, part));

/** Returns the offset of the id's block in the whole filter. */
const blockAt = ({ hash }: Claim, { bytes }: FilterLayout): number =>
  (hash % (bytes / BLOCK_BYTES)) * BLOCK_BYTES;

/** Returns the key of the string that holds the id's block, and the byte in it. */
export function placeInFilter(claim: Claim, layout: FilterLayout): { key: string; offset: number } {
  const at = blockAt(claim, layout);
  return {
    key: claimFilterKey(layout.serial, Math.floor(at / FILTER_PART_BYTES)),
    offset: at % FILTER_PART_BYTES,
  };
}

/** An id as arguments of a script, with its place in the filter. */
export interface ScriptClaim {
  readonly claim: Buffer;
  readonly filterMask: Buffer;
  /** Layout of the filters that the place refers to. A script refuses a layout that is not in force. */
  readonly filterLayout: string;
  /** Key of the string that holds the id's block. */
  readonly claimFilter: string;
  readonly filterOffset: number;
  /** Offset of the block's last byte. */
  readonly filterLast: number;
}

/** @param claim null: the command claims nothing; its script takes the same arguments */
export function scriptClaim(claim: Claim | null, { text, current }: FilterState): ScriptClaim {
  const { field, mask } = claim ?? NO_CLAIM;
  const place = claim === null ? { key: claimFilterKey(0, 0), offset: 0 } : placeInFilter(claim, current);
  return {
    claim: field,
    filterMask: mask,
    filterLayout: text,
    claimFilter: place.key,
    filterOffset: place.offset,
    filterLast: lastByte(place.offset),
  };
}

const NO_CLAIM = { field: Buffer.alloc(0), mask: Buffer.alloc(BLOCK_BYTES) };

/** True when a block has all bits of the id. A string of Redis may end before the block does. */
export function hasBits({ mask }: Claim, block: Buffer, at = 0): boolean {
  for (let byte = 0; byte < BLOCK_BYTES; byte += 1)
    if (((block[at + byte] ?? 0) & mask[byte]!) !== mask[byte]!) return false;
  return true;
}

/** Offset of a block's last byte. */
export const lastByte = (offset: number): number => offset + BLOCK_BYTES - 1;

/** Number of set bits in a byte. */
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** Consecutive bytes of a filter, outside Redis. */
export class FilterBits {
  readonly #layout: FilterLayout;
  readonly #from: number;
  readonly bytes: Buffer;

  /**
   * @param from a multiple of eight
   * @param length a multiple of eight, at most the rest of the filter
   */
  constructor(layout: FilterLayout, from = 0, length = layout.bytes - from) {
    this.#layout = layout;
    this.#from = from;
    this.bytes = Buffer.alloc(length);
  }

  /** Sets the id's bits; skips an id whose block lies elsewhere. */
  add(claim: Claim): void {
    const at = blockAt(claim, this.#layout) - this.#from;
    if (at < 0 || at >= this.bytes.length) return;
    for (let byte = 0; byte < BLOCK_BYTES; byte += 1) this.bytes[at + byte]! |= claim.mask[byte]!;
  }

  get ones(): number {
    return this.bytes.reduce((sum, byte) => sum + ONES[byte]!, 0);
  }

  /** True when all bits of the id are set; undefined when its block lies elsewhere. */
  has(claim: Claim): boolean | undefined {
    const at = blockAt(claim, this.#layout) - this.#from;
    if (at < 0 || at >= this.bytes.length) return undefined;
    return hasBits(claim, this.bytes, at);
  }
}

/** Load of a filter, estimated from a sample of its blocks. */
export interface FilterLoad {
  readonly bytes: number;
  /** Share of bits that are set. */
  readonly setRatio: number;
  /** Number of ids that set as many bits. */
  readonly ids: number;
  /** Share of new ids for which Postgres must be asked. */
  readonly falsePositiveRatio: number;
}

/** Share of a block's bits that one id leaves as they were. */
const KEPT_BY_ID = (1 - 1 / BLOCK_BITS) ** BITS_PER_ID;

/** @param samples whole blocks of the filter, at least one */
export function loadOf({ bytes }: FilterLayout, samples: readonly Buffer[]): FilterLoad {
  let blocks = 0;
  let ones = 0;
  let falsePositives = 0;
  for (const sample of samples) {
    for (let at = 0; at < sample.length; at += BLOCK_BYTES) {
      let inBlock = 0;
      for (let byte = at; byte < at + BLOCK_BYTES; byte += 1) inBlock += ONES[sample[byte]!]!;
      blocks += 1;
      ones += inBlock;
      falsePositives += (inBlock / BLOCK_BITS) ** BITS_PER_ID;
    }
  }
  const setRatio = ones / (blocks * BLOCK_BITS);
  // Ids fall on blocks at random, so a block has a Poisson number of them: the expected share of clear bits is
  // exp(-idsPerBlock * (1 - KEPT_BY_ID)).
  const idsPerBlock = -Math.log(Math.max(1 - setRatio, 1 / (blocks * BLOCK_BITS))) / (1 - KEPT_BY_ID);
  return {
    bytes,
    setRatio,
    ids: Math.round((idsPerBlock * bytes) / BLOCK_BYTES),
    falsePositiveRatio: falsePositives / blocks,
  };
}

/** Load of filters that stand for one: an id is asked for when any of them may have it. */
export const loadOfAll = (loads: readonly FilterLoad[]): FilterLoad => ({
  bytes: sumOf(loads, ({ bytes }) => bytes),
  setRatio: loads.at(-1)!.setRatio,
  ids: sumOf(loads, ({ ids }) => ids),
  falsePositiveRatio:
    1 - loads.reduce((clear, { falsePositiveRatio }) => clear * (1 - falsePositiveRatio), 1),
});

const sumOf = (loads: readonly FilterLoad[], figure: (load: FilterLoad) => number): number =>
  loads.reduce((sum, load) => sum + figure(load), 0);
