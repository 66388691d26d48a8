/** Who signed: secp256k1 recovery with the narrow reading of a signature that both flows share. */

import { hashMessage, recoverAddress } from 'ethers';

/** r, s and v, 65 bytes. ethers would also take 64 (EIP-2098) and a v of 35 and more (EIP-155). */
const SIGNATURE_PATTERN = /^0x[0-9a-fA-F]{128}(?:00|01|1[bBcC])$/;

/**
 * The wallet whose key signed the 32-byte digest, or undefined if the signature is none. ethers refuses the
 * upper half of s: the same signature written a second way, which no wallet has produced since EIP-2.
 */
export function recoverSigner(digest: string, signature: string): string | undefined {
  if (!SIGNATURE_PATTERN.test(signature)) return undefined;
  try {
    return recoverAddress(digest, signature).toLowerCase();
  } catch {
    return undefined; // s in its upper half, r or s beyond the curve's order or zero, or r the x of no point
  }
}

/** The wallet that signed exactly these characters with `personal_sign`, or undefined. */
export function recoverMessageSigner(message: string, signature: string): string | undefined {
  const digest = messageDigest(message);
  return digest === undefined ? undefined : recoverSigner(digest, signature);
}

/** EIP-191 digest of the message's UTF-8 bytes; undefined if it has none, for it holds half a surrogate pair. */
function messageDigest(message: string): string | undefined {
  try {
    return hashMessage(message);
  } catch {
    return undefined;
  }
}
