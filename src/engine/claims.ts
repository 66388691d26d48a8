/** Ids that count once for ever: where they are claimed, and their place in the Bloom filter. */

import { createHash } from 'node:crypto';

/** 2^21 blocks of 64 bits: 16 MB, under one false "maybe" in a hundred up to some eight million ids. */
const FILTER_BLOCKS = 2 ** 21;
const BITS_PER_ID = 5;
export const FILTER_BYTES = FILTER_BLOCKS * 8;

/** With its header a string of 14 bytes fills an allocation of 16; 112 bits are past any accident or search. */
const DIGEST_BYTES = 14;

/** An id as the scripts take it: the field it is claimed under, and its block and bits in the filter. */
export interface Claim {
  /** Digest of kind, wallet and id. */
  readonly field: Buffer;
  /** Byte offset of the id's 64-bit block. */
  readonly offset: number;
  /** The id's bits in the block. */
  readonly mask: Buffer;
}

function claimOf(kind: string, id: string): Claim {
  const hash = createHash('sha256').update(`${kind}:${id}`).digest();
  const mask = Buffer.alloc(8);
  for (let bit = 0; bit < BITS_PER_ID; bit += 1) {
    const place = hash[DIGEST_BYTES + 4 + bit]! % 64;
    mask[place >> 3]! |= 1 << (place & 7);
  }
  const block = hash.readUInt32BE(DIGEST_BYTES) % FILTER_BLOCKS;
  return { field: hash.subarray(0, DIGEST_BYTES), offset: block * 8, mask };
}

export const orderClaim = (wallet: string, clientOrderId: string): Claim => claimOf(wallet, clientOrderId);

export const movementClaim = (kind: 'credited' | 'debited', reference: string): Claim =>
  claimOf(kind, reference);
