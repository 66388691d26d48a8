/** The same signature written otherwise. */

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

export const withV = (signature: string, v: number): string =>
  signature.slice(0, -2) + v.toString(16).padStart(2, '0');

/** The other of the two signatures that recover to the same key: n - s, and the other v. */
export function highS(signature: string): string {
  const s = CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const flipped = signature.slice(0, 66) + s.toString(16).padStart(64, '0') + signature.slice(130);
  return withV(flipped, signature.endsWith('1c') ? 27 : 28);
}
