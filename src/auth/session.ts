/** Bearer sessions: docs/api.md 2.2 and 5. JWTs, HS256 alone, for eight hours. */

import { createSecretKey, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { Refusal } from '../domain/errors.ts';

export const SESSION_SECONDS = 8 * 60 * 60;

/** Largest lead of the clock of the replica that issued a token. */
const CLOCK_SKEW_SECONDS = 60;

const MIN_SECRET_BYTES = 32;

/** Verified tokens that are remembered: about 5 MB when full. */
const REMEMBERED_TOKENS = 10_000;

const USUAL = 'Bearer ';
const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** Form of a subject. A token with the same wallet in another form was not issued here. */
const SUBJECT = /^0x[0-9a-f]{40}$/;

export interface SessionOptions {
  /** `iss` of every token, so that a token of another service with the same secret is refused. */
  readonly issuer: string;
  /** At least 32 bytes; signs and verifies. */
  readonly secret: string;
  /** Verifies only, so that a change of secrets ends no session. */
  readonly previousSecret: string | undefined;
  readonly nowMs: () => number;
}

interface Sessions {
  /** Issues a token for a wallet (lower case). */
  issue(wallet: string): string;
  /**
   * Returns the wallet of an `Authorization` header; throws `UNAUTHORIZED` unless the header carries a valid token of
   * this service.
   */
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
  // A key is the whole token with its signature: with a shorter key a forged token would pass for the one it copies.
  const remembered = new LRUCache<string, Session>({ max: REMEMBERED_TOKENS });

  return {
    issue(wallet) {
      const iat = Math.floor(nowMs() / 1000);
      const claims = { iss: issuer, sub: wallet, iat, exp: iat + SESSION_SECONDS };
      return jwt.sign(claims, key, { algorithm: 'HS256' });
    },

    read(authorization) {
      // The usual header needs no parsing, because only whole tokens are remembered.
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
      if (known === undefined) remembered.set(token, session);
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
      // The token is not signed by this key, or is no token at all.
    }
  }
  return undefined;
}

/** Checks the claims that jsonwebtoken leaves unchecked: a missing `exp`, `iat`, and the lifetime of the token. */
function sessionOf(claims: string | jwt.JwtPayload, nowSeconds: number): Session | undefined {
  if (typeof claims === 'string') return undefined;
  const { sub, iat, exp } = claims;
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) return undefined;
  if (typeof iat !== 'number' || typeof exp !== 'number') return undefined;
  if (iat > nowSeconds + CLOCK_SKEW_SECONDS || exp - iat > SESSION_SECONDS) return undefined;
  return { wallet: sub, expiresMs: exp * 1000 };
}
