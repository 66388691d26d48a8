/** Finds the session that a request is counted for. */

import { createHash } from 'node:crypto';
import type { Request } from 'express';
import type { Auth } from '../../auth/index.ts';

/** Length of a session's digest: 132 bits. */
const SESSION_CHARACTERS = 22;

/**
 * The session a request carries, if it is one of ours and valid; otherwise undefined, and the request is as good as
 * one without: a forged token must not be worth a count of its own.
 */
export function sessionOf(auth: Auth, { headers: { authorization } }: Request): string | undefined {
  if (authorization === undefined) return undefined;
  try {
    auth.session(authorization);
  } catch {
    return undefined;
  }
  // Only the token is hashed, because the scheme before it can be written in many ways. A hash is kept because the
  // token opens the session.
  const token = authorization.slice(authorization.lastIndexOf(' ') + 1);
  return createHash('sha256').update(token).digest('base64url').slice(0, SESSION_CHARACTERS);
}
