/**
 * Nonces of SIWE messages. A nonce carries the time of its issue and a code that only the service can make, so that an
 * expired one can be told from an invented one, although nothing of it is kept.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { CHALLENGE_LIFETIME_MS } from './challenges.ts';

/** Seconds since the epoch (4) | random (4) | code (8), as 32 hex digits. */
const ISSUED_BYTES = 8;
const CODE_BYTES = 8;

export interface Nonces {
  issue(wallet: string, nowMs: number): string;
  /** True if it was issued for the wallet at least five minutes ago. */
  hasExpired(nonce: string, wallet: string, nowMs: number): boolean;
}

/** @param secrets of all replicas; the first one makes new nonces */
export function openNonces([secret, ...previous]: readonly [string, ...string[]]): Nonces {
  const codeOf = (key: string, wallet: string, issued: Buffer): Buffer =>
    createHmac('sha256', key).update(`siwe nonce ${wallet} `).update(issued).digest().subarray(0, CODE_BYTES);
  return {
    issue(wallet, nowMs) {
      const issued = randomBytes(ISSUED_BYTES);
      issued.writeUInt32BE(Math.floor(nowMs / 1_000));
      return Buffer.concat([issued, codeOf(secret, wallet, issued)]).toString('hex');
    },
    hasExpired(nonce, wallet, nowMs) {
      const bytes = Buffer.from(nonce, 'hex');
      if (bytes.toString('hex') !== nonce || bytes.length !== ISSUED_BYTES + CODE_BYTES) return false;
      const issued = bytes.subarray(0, ISSUED_BYTES);
      const code = bytes.subarray(ISSUED_BYTES);
      if (issued.readUInt32BE() * 1_000 + CHALLENGE_LIFETIME_MS > nowMs) return false;
      return [secret, ...previous].some((key) => timingSafeEqual(codeOf(key, wallet, issued), code));
    },
  };
}
