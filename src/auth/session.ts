/** Bearer sessions: contract 2.2 and 5. A JWT, HS256 and nothing else, for eight hours. */

import { createSecretKey, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { Refusal } from '../domain/errors.ts';

export const SESSION_SECONDS = 8 * 60 * 60;

/** How far the clock of the replica that issued a token may be ahead of ours. */
const CLOCK_SKEW_SECONDS = 60;

const MIN_SECRET_BYTES = 32;

/** Verified tokens that are remembered: about 5 MB when full. */
const REMEMBERED_TOKENS = 10_000;

const USUAL = 'Bearer ';
const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** The subject as it is issued; a token for the same wallet written otherwise was not issued here. */
const SUBJECT = /^0x[0-9a-f]{40}$/;

export interface SessionOptions {
  /** `iss` of every token; one of another service with the same secret is not ours. */
  readonly issuer: string;
  /** At least 32 bytes; signs and verifies. */
  readonly secret: string;
  /** Verifies only, so that a change of secrets ends no session. */
  readonly previousSecret: string | undefined;
  readonly nowMs: () => number;
}

export interface Sessions {
  /** A new token for a wallet (lower case). */
  issue(wallet: string): string;
  /** The wallet of an `Authorization` header; throws `UNAUTHORIZED` unless it carries a token of ours that is valid. */
  read(authorization: string | undefined): string;
}

interface Session {
  readonly wallet: string;
  readonly expiresMs: number;
}

export function openSessions(options: SessionOptions): Sessions {
  const { issuer, nowMs } = options;
  const key = secretKey(options.secret);
  const keys = options.previousSecret === undefined ? [key] : [key, secretKey(options.previousSecret)];
  const remembered = new Map<string, Session>();

  return {
    issue(wallet) {
      const iat = Math.floor(nowMs() / 1000);
      const claims = { iss: issuer, sub: wallet, iat, exp: iat + SESSION_SECONDS };
      return jwt.sign(claims, key, { algorithm: 'HS256' });
    },

    read(authorization) {
      // The header as clients write it needs no taking apart: nothing but a whole token is remembered.
      const usual = authorization?.startsWith(USUAL) && remembered.get(authorization.slice(USUAL.length));
      if (usual && usual.expiresMs > nowMs()) return usual.wallet;
      const token = BEARER.exec(authorization ?? '')?.[1];
      if (token === undefined) throw new Refusal('UNAUTHORIZED');
      const known = remembered.get(token);
      const session = known ?? verify(token, keys, issuer, nowMs());
      if (session === undefined || session.expiresMs <= nowMs()) {
        remembered.delete(token);
        throw new Refusal('UNAUTHORIZED');
      }
      if (known === undefined) remember(remembered, token, session);
      return session.wallet;
    },
  };
}

/** A KeyObject, not the string: jsonwebtoken tries a string as a public key first, 358 µs a token instead of 8. */
function secretKey(secret: string): KeyObject {
  const bytes = Buffer.from(secret, 'utf8');
  if (bytes.length < MIN_SECRET_BYTES)
    throw new Error(`a JWT secret needs at least ${MIN_SECRET_BYTES} bytes`);
  return createSecretKey(bytes);
}

/**
 * The whole token is the key, signature included: a shorter one would let a forged token pass for the one it
 * copies. Only verified tokens get in, so nobody can fill it with others; the oldest makes room.
 */
function remember(remembered: Map<string, Session>, token: string, session: Session): void {
  if (remembered.size >= REMEMBERED_TOKENS) {
    const [oldest] = remembered.keys();
    if (oldest !== undefined) remembered.delete(oldest);
  }
  remembered.set(token, session);
}

function verify(
  token: string,
  keys: readonly KeyObject[],
  issuer: string,
  nowMs: number,
): Session | undefined {
  const nowSeconds = Math.floor(nowMs / 1000);
  for (const key of keys) {
    try {
      const claims = jwt.verify(token, key, { algorithms: ['HS256'], issuer, clockTimestamp: nowSeconds });
      return sessionOf(claims, nowSeconds);
    } catch {
      // Not by this key, or no token at all: whatever the library stumbles over is not a session.
    }
  }
  return undefined;
}

/** jsonwebtoken checks `exp` only where there is one, and neither `iat` nor how long a token was made to live. */
function sessionOf(claims: string | jwt.JwtPayload, nowSeconds: number): Session | undefined {
  if (typeof claims === 'string') return undefined;
  const { sub, iat, exp } = claims;
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) return undefined;
  if (typeof iat !== 'number' || typeof exp !== 'number') return undefined;
  if (iat > nowSeconds + CLOCK_SKEW_SECONDS || exp - iat > SESSION_SECONDS) return undefined;
  return { wallet: sub, expiresMs: exp * 1000 };
}
