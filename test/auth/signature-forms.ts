/** Other encodings of a signature, valid and invalid. */

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

export const withV = (signature: string, v: number): string =>
  signature.slice(0, -2) + v.toString(16).padStart(2, '0');

/** Returns the other signature that recovers to the same key: n - s, and the other v. */
export function highS(signature: string): string {
  const s = CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const flipped = signature.slice(0, 66) + s.toString(16).padStart(64, '0') + signature.slice(130);
  return withV(flipped, signature.endsWith('1c') ? 27 : 28);
}

/** Malformed variants of a good signature, each with the reason in its refusal. */
export const wrongForms = (signature: string): readonly (readonly [form: string, reason: RegExp])[] => [
  ['', /must begin with 0x$/],
  ['nonsense', /must begin with 0x$/],
  [signature.slice(2), /must begin with 0x$/],
  [`0X${signature.slice(2)}`, /must begin with 0x$/],
  [`${signature.slice(0, -1)}g`, /only hex digits/],
  [`${signature}\n`, /only hex digits/],
  [signature.slice(0, -1), /odd number of hex digits/],
  ['0x', /is 0 bytes: must be r, s and v, 65 bytes$/],
  [signature.slice(0, -2), /is 64 bytes, the compact form of EIP-2098/],
  [
    `${signature}00`,
    /is 66 bytes, must be 65: .*smart-contract wallets \(ERC-1271, ERC-6492\) are not supported/,
  ],
  [`0x${'ab'.repeat(4000)}`, /is 4000 bytes, must be 65/],
  [withV(signature, 2), /ends in 0x02: the last byte, v, must be 1b or 1c, or 00 or 01/],
  [withV(signature, 35), /ends in 0x23/],
  [highS(signature), /lower half \(EIP-2\)/],
  [`0x${'ff'.repeat(64)}1b`, /lower half \(EIP-2\)/],
];
