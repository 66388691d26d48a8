/** Texts that must stay out of logs and replies, planted where a careless service would repeat them. */

import { createHash } from 'node:crypto';

/** Secrets of the cluster's own settings. */
export const JWT_SECRET = 'planted-key-of-the-sessions-of-hostile-input';
export const PREVIOUS_SECRET = 'planted-key-of-earlier-sessions-of-hostile-input';

/** Anything that looks like a token or a signature, planted or not. A tag may begin like a token, but has no dot. */
const LOOKS_SECRET = /\beyJ[\w-]{12,}\.[\w-]|0x[0-9a-fA-F]{128,}/g;
const MAX_SHOWN = 200;

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/** Returns a forged token whose three parts can be recognised. It is never valid. */
export function plantedToken(number: number): string {
  const mark = `planted-${number}`;
  const claims = { iss: 'Redbook', sub: mark, iat: 1_700_000_000, exp: 4_000_000_000 };
  const signature = createHash('sha256').update(mark).digest('base64url');
  return [base64url('{"alg":"HS256","typ":"JWT"}'), base64url(JSON.stringify(claims)), signature].join('.');
}

/** Returns a signature that can be recognised. It is never valid. */
export const plantedSignature = (number: number): string =>
  `0x${createHash('sha512').update(`planted-${number}`).digest('hex')}1b`;

export class Secrets {
  readonly #pieces = new Set<string>([JWT_SECRET, PREVIOUS_SECRET]);

  /** The parts of a token that open a session or tell whose it is. */
  addToken(token: string): void {
    const [, claims = '', signature = ''] = token.split('.');
    for (const part of [claims, signature]) if (part.length >= 20) this.#pieces.add(part);
  }

  /** The digits of a signature, which a service may write in either case. */
  addSignature(signature: string): void {
    const digits = signature.replace(/^0x/i, '').toLowerCase();
    // A forged signature of a few different digits is no secret, and numbers look like it.
    if (digits.length >= 64 && new Set(digits.slice(0, 64)).size > 8) this.#pieces.add(digits.slice(0, 64));
  }

  /** A key of an operator. */
  addKey(key: string): void {
    this.#pieces.add(key);
  }

  /** A nonce of a challenge, while it could still be answered. */
  addNonce(nonce: string): void {
    this.#pieces.add(nonce);
  }

  /** Returns the lines of a log that hold a secret, or anything that looks like one. */
  linesWithSecrets(log: string): string[] {
    const lines = new Set<string>();
    for (const { index } of log.matchAll(LOOKS_SECRET)) lines.add(lineAt(log, index));
    const lower = log.toLowerCase();
    for (const piece of this.#pieces) {
      const isHex = /^[0-9a-f]+$/.test(piece);
      const at = (isHex ? lower : log).indexOf(piece);
      if (at >= 0) lines.add(lineAt(log, at));
    }
    return [...lines];
  }

  get count(): number {
    return this.#pieces.size;
  }
}

/** True if a text holds something that looks like a token or a signature. */
export const looksSecret = (text: string): boolean => text.search(LOOKS_SECRET) >= 0;

function lineAt(log: string, at: number): string {
  const from = Math.max(log.lastIndexOf('\n', at) + 1, at - MAX_SHOWN);
  return log.slice(from, at + MAX_SHOWN).split('\n')[0]!;
}
