/** Bearer sessions: docs/api.md 2.2 and 5. They are JWTs with HS256 only and last eight hours. */

import { createSecretKey, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { Refusal } from '../domain/errors.ts';

export const SESSION_SECONDS = 8 * 60 * 60;

/** Maximum time by which the clock of the issuing replica may be ahead. */
const CLOCK_SKEW_SECONDS = 60;

const MIN_SECRET_BYTES = 32;

/** Maximum number of verified tokens in the cache, about 5 MB. */
const REMEMBERED_TOKENS = 10_000;

const BEARER_PREFIX = 'Bearer ';
const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** Form of a subject. This service never issues a token with the wallet in another form. */
const SUBJECT = /^0x[0-9a-f]{40}$/;

export interface SessionOptions {
  /** `iss` of every token. Tokens of another service with the same secret are therefore rejected. */
  readonly issuer: string;
  /** Signs and verifies tokens. At least 32 bytes. */
  readonly secret: string;
  /** Only verifies tokens, so that changing the secret ends no session. */
  readonly previousSecret: string | undefined;
  readonly nowMs: () => number;
}

interface Sessions {
  /** Issues a token for a wallet (lower case). */
  issue(wallet: string): string;
  /**
   * Returns the wallet of an `Authorization` header. Throws `UNAUTHORIZED` unless the header has a valid token of this
   * service.
   */
  read(authorization: string | undefined): string;
}

interface Session {
  readonly wallet: string;
  readonly expiresMs: number;
}

interface KnownSession extends Session {
  readonly token: string;
}

/** Length of the signature of HS256 at the end of a token. */
const SIGNATURE_CHARACTERS = 43;

export function openSessions(options: SessionOptions): Sessions {
  const { issuer, nowMs } = options;
  const key = secretKey(options.secret);
  const keys = options.previousSecret === undefined ? [key] : [key, secretKey(options.previousSecret)];
  // By the signature, because the hash of a whole token takes longer. A token must be the one of its entry.
  const remembered = new LRUCache<string, KnownSession>({ max: REMEMBERED_TOKENS });
  const knownSession = (token: string): KnownSession | undefined => {
    const known = remembered.get(token.slice(-SIGNATURE_CHARACTERS));
    return known?.token === token ? known : undefined;
  };

  return {
    issue(wallet) {
      const iat = Math.floor(nowMs() / 1000);
      const claims = { iss: issuer, sub: wallet, iat, exp: iat + SESSION_SECONDS };
      return jwt.sign(claims, key, { algorithm: 'HS256' });
    },

    read(authorization) {
      // Fast path without parsing. It is safe because the cache has whole tokens.
      const cached =
        authorization?.startsWith(BEARER_PREFIX) && knownSession(authorization.slice(BEARER_PREFIX.length));
      if (cached && cached.expiresMs > nowMs()) return cached.wallet;
      const token = BEARER.exec(authorization ?? '')?.[1];
      if (token === undefined) throw new Refusal('UNAUTHORIZED');
      const known = knownSession(token);
      const session = known ?? verify(token, keys, issuer, nowMs());
      if (session === undefined || session.expiresMs <= nowMs()) {
        if (known !== undefined) remembered.delete(token.slice(-SIGNATURE_CHARACTERS));
        throw new Refusal('UNAUTHORIZED');
      }
      if (known === undefined) {
        const { wallet, expiresMs } = session;
        remembered.set(token.slice(-SIGNATURE_CHARACTERS), { token, wallet, expiresMs });
      }
      return session.wallet;
    },
  };
}

/**
 * Makes a KeyObject: given a string, jsonwebtoken first tries it as a public key, which takes 358 µs per token instead
 * of 8.
 */
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
      const { header, payload } = jwt.verify(token, key, {
        algorithms: ['HS256'],
        issuer,
        clockTimestamp: nowSeconds,
        complete: true,
      });
      // RFC 7515, 4.1.11: a token with critical parameters that the reader does not know is invalid.
      return header.crit === undefined ? sessionOf(payload, nowSeconds) : undefined;
    } catch {
      // The token was signed with another key, or is not a token.
    }
  }
  return undefined;
}

/** Checks what jsonwebtoken does not: that `exp` is present, `iat`, and the lifetime of the token. */
function sessionOf(claims: string | jwt.JwtPayload, nowSeconds: number): Session | undefined {
  if (typeof claims === 'string') return undefined;
  const { sub, iat, exp } = claims;
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) return undefined;
  if (typeof iat !== 'number' || typeof exp !== 'number') return undefined;
  if (iat > nowSeconds + CLOCK_SKEW_SECONDS || exp - iat > SESSION_SECONDS) return undefined;
  return { wallet: sub, expiresMs: exp * 1000 };
}
