/** Finds the session that a request is counted under. */

import { createHash } from 'node:crypto';
import type { Request } from 'express';
import type { Auth } from '../../auth/index.ts';

/** Length of a session digest in characters: 132 bits. */
const SESSION_CHARACTERS = 22;

/**
 * Returns the digest of the request's session, or undefined if it has no valid session of this service. A forged token
 * is treated like no token, because it must not get its own count.
 */
export function sessionOf(auth: Auth, { headers: { authorization } }: Request): string | undefined {
  if (authorization === undefined) return undefined;
  try {
    auth.session(authorization);
  } catch {
    return undefined;
  }
  // Only the token is hashed, because the scheme before it can be written in many ways. The hash is stored instead of
  // the token because the token opens the session.
  const token = authorization.slice(authorization.lastIndexOf(' ') + 1);
  return createHash('sha256').update(token).digest('base64url').slice(0, SESSION_CHARACTERS);
}
