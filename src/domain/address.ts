/** Wallet addresses as requests carry them. */

import { Refusal } from './errors.ts';

/** `0x` and 40 hex digits in any case: the checksum is a courtesy to people and is not enforced. */
export const ADDRESS_PATTERN = /^0x[0-9a-fA-F]{40}$/;

/**
 * Returns the wallet that an address names, in lower case as the service writes it everywhere. Throws
 * `VALIDATION_ERROR` for anything else.
 */
export function readAddress(address: string): string {
  if (!ADDRESS_PATTERN.test(address)) {
    throw new Refusal('VALIDATION_ERROR', 'address must be 0x and 40 hex digits');
  }
  return address.toLowerCase();
}
