/** Recovers the signer of a message. Both flows share its strict parsing of signatures. */

import { hashMessage, recoverAddress } from 'ethers';

/** r, s and v. */
const SIGNATURE_BYTES = 65;
const COMPACT_BYTES = 64;
/** Accepted values of v. ethers would also accept 35 and above (EIP-155). */
const RECOVERY_BYTES = new Set(['00', '01', '1b', '1c']);
const MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Returns the reason why a text is not the 65-byte signature of an ordinary account, or undefined if its form is valid.
 * Clients see the reason, so it reveals only the length and the last byte of the text.
 */
export function signatureFault(signature: string): string | undefined {
  if (!signature.startsWith('0x')) return 'must begin with 0x';
  const digits = signature.slice(2);
  if (/[^0-9a-fA-F]/.test(digits)) return 'must hold only hex digits after 0x';
  if (digits.length % 2 === 1) return 'has an odd number of hex digits';
  return lengthFault(digits.length / 2) ?? valueFault(digits.toLowerCase());
}

function lengthFault(bytes: number): string | undefined {
  if (bytes === SIGNATURE_BYTES) return undefined;
  if (bytes === COMPACT_BYTES)
    return 'is 64 bytes, the compact form of EIP-2098: send r, s and v, 65 bytes (ethers: Signature.from(…).serialized)';
  if (bytes < SIGNATURE_BYTES) return `is ${bytes} bytes: must be r, s and v, 65 bytes`;
  return `is ${bytes} bytes, must be 65: signatures of smart-contract wallets (ERC-1271, ERC-6492) are not supported`;
}

/**
 * Returns the fault in v or s. A key can sign each digest with s and with n - s; since EIP-2 wallets send the lower
 * one.
 */
function valueFault(digits: string): string | undefined {
  const v = digits.slice(-2);
  if (!RECOVERY_BYTES.has(v)) return `ends in 0x${v}: the last byte, v, must be 1b or 1c, or 00 or 01`;
  if (BigInt(`0x${digits.slice(64, 128)}`) > MAX_S) return 'must have its s in the lower half (EIP-2)';
  return undefined;
}

/**
 * Returns the wallet, in lower case, whose key signed the 32-byte digest. Returns undefined if the signature is
 * invalid.
 */
export function recoverSigner(digest: string, signature: string): string | undefined {
  if (signatureFault(signature) !== undefined) return undefined;
  try {
    return recoverAddress(digest, signature).toLowerCase();
  } catch {
    return undefined; // r or s beyond the curve's order or zero, or r the x of no point
  }
}

/** Returns the wallet that signed exactly these characters with `personal_sign`, or undefined. */
export function recoverMessageSigner(message: string, signature: string): string | undefined {
  const digest = messageDigest(message);
  return digest === undefined ? undefined : recoverSigner(digest, signature);
}

/**
 * Returns the EIP-191 digest of the message's UTF-8 bytes. Returns undefined if half a surrogate pair prevents
 * encoding.
 */
function messageDigest(message: string): string | undefined {
  try {
    return hashMessage(message);
  } catch {
    return undefined;
  }
}
