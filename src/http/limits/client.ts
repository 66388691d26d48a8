/** Whose request it is: that of a session, or that of an address. */

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Request } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { Auth } from '../../auth/index.ts';

/** A household or a server is given at least this much of IPv6, and may use any address in it. */
const NETWORK_BITS = 64;

/** Of a session's digest: 132 bits. */
const SESSION_CHARACTERS = 22;

const MAPPED = '::ffff:';
/** Some proxies write the port too; each connection has another. */
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/;

/**
 * The address a request came from, as far as proxies are trusted: an IPv4 address, or an IPv6 network. A trusted
 * proxy that says something else (`unknown`) is counted itself.
 */
export function addressOf(request: Request): string {
  return readAddress(request.ip) ?? readAddress(request.socket.remoteAddress) ?? 'gone';
}

function readAddress(text = ''): string | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  // IPv4 on a socket that takes both, which is most requests to most services: 7 µs by way of ipKeyGenerator.
  const unmapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
  if (isIP(unmapped) === 4) return unmapped;
  return isIP(address) === 6 ? ipKeyGenerator(address, NETWORK_BITS) : undefined;
}

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
  // Of the token alone: the scheme before it can be written in many ways. Hashed, because it opens the session.
  const token = authorization.slice(authorization.lastIndexOf(' ') + 1);
  return createHash('sha256').update(token).digest('base64url').slice(0, SESSION_CHARACTERS);
}
