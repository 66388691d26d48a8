/** Ids that count once for ever: where they are claimed, and their place in the Bloom filter. */

import { createHash } from 'node:crypto';
import { walletBytes } from './codec.ts';

/** 2^21 blocks of 64 bits: 16 MB, under one false "maybe" in a hundred up to some eight million ids. */
const FILTER_BLOCKS = 2 ** 21;
const BITS_PER_ID = 5;

/** An id as the scripts take it: the field it is claimed under, and its block and bits in the filter. */
export interface Claim {
  readonly field: Buffer;
  /** Byte offset of the id's 64-bit block. */
  readonly offset: number;
  /** The id's bits in the block. */
  readonly mask: Buffer;
}

function claimOf(field: Buffer): Claim {
  const hash = createHash('sha1').update(field).digest();
  const mask = Buffer.alloc(8);
  for (let bit = 0; bit < BITS_PER_ID; bit += 1) {
    const place = hash[4 + bit]! % 64;
    mask[place >> 3]! |= 1 << (place & 7);
  }
  return { field, offset: (hash.readUInt32BE(0) % FILTER_BLOCKS) * 8, mask };
}

export const orderClaim = (wallet: string, clientOrderId: string): Claim =>
  claimOf(Buffer.concat([Buffer.from('o'), walletBytes(wallet), Buffer.from(clientOrderId)]));

export const movementClaim = (kind: 'credited' | 'debited', reference: string): Claim =>
  claimOf(Buffer.from(`${kind === 'credited' ? 'c' : 'd'}${reference}`));
