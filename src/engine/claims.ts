/** Ids that may be used only once: the field that each id is claimed under, and its bits in the claim filter. */

import { hash } from 'node:crypto';
import type { MovementKind } from '../domain/event.ts';

/** An id that may be used only once, ever. */
export type UsedId =
  | { readonly kind: 'order'; readonly wallet: string; readonly clientOrderId: string }
  | { readonly kind: MovementKind; readonly reference: string };

/** Number of bits that an id sets in its block of the filter; some may coincide. */
export const BITS_PER_ID = 5;

/**
 * Bytes of a digest. With its header, a 14-byte string fills a 16-byte allocation. 112 bits rule out collisions,
 * accidental or searched for.
 */
const DIGEST_BYTES = 14;

/** An id in the form that the scripts and the filter take. */
export interface Claim {
  /** Digest of kind, wallet and id: the field in the hash of recent claims. */
  readonly field: Buffer;
  /** 32 bits, of which a filter takes as many as it has blocks. */
  readonly hash: number;
  /** The id's bits in its block of eight bytes. */
  readonly mask: Buffer;
}

/**
 * Milliseconds for which a lookup in Postgres counts. Redis remembers a used id for twice as long after Postgres has
 * it. `lua/include/claim.lua` has the same value.
 */
export const LOOK_COUNTS_MS = 300_000;

/** A time of one epoch of the engine, in Unix milliseconds. */
export interface EngineMoment {
  readonly epoch: number;
  readonly timeMs: number;
}

/**
 * Returns the moment of a lookup in Postgres as scripts take it; 0 for none. A lookup under another epoch does not
 * count, because an engine rebuilt since then remembers no id that was settled since.
 */
export const checkedAtMs = (
  checked: EngineMoment | undefined,
  { epoch }: { readonly epoch: number },
): number => (checked?.epoch === epoch ? checked.timeMs : 0);

function claimOf(kind: string, id: string): Claim {
  // One call that returns text takes a third of the time of a hash object and its buffer.
  const digest = Buffer.from(hash('sha256', `${kind}:${id}`, 'binary'), 'binary');
  const mask = Buffer.allocUnsafe(8).fill(0);
  for (let bit = 0; bit < BITS_PER_ID; bit += 1) {
    const position = digest[DIGEST_BYTES + 4 + bit]! % 64;
    mask[position >> 3]! |= 1 << (position & 7);
  }
  return { field: digest.subarray(0, DIGEST_BYTES), hash: digest.readUInt32BE(DIGEST_BYTES), mask };
}

export const orderClaim = (wallet: string, clientOrderId: string): Claim => claimOf(wallet, clientOrderId);

/**
 * Kinds of movements that share their references. A reference stands for one deposit and for one withdrawal, and a
 * withdrawal ends once. An announced deposit ends once: it is credited, or dropped.
 */
const CLAIMED_AS = {
  credited: 'credited',
  debited: 'debited',
  requested: 'debited',
  confirmed: 'ended',
  returned: 'ended',
  announced: 'announced',
  dropped: 'credited',
} as const satisfies Record<MovementKind, string>;

export const movementClaim = (kind: MovementKind, reference: string): Claim =>
  claimOf(CLAIMED_AS[kind], reference);

/** Claim of the reversals of a movement, which tells how much of it is left. It has no place in the filter: Postgres is asked. */
export const reversalClaim = (reversed: string, by: MovementKind): Claim =>
  claimOf(`reversal ${by}`, reversed);

export const claimOfUsed = (used: UsedId): Claim =>
  used.kind === 'order'
    ? orderClaim(used.wallet, used.clientOrderId)
    : movementClaim(used.kind, used.reference);
