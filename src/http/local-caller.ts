/** Tells requests of this machine from requests that came over a network. */

import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../edge/client-address.ts';

/** Headers by which a proxy says that it passed a request on; those that begin with `x-forwarded-` are among them too. */
const PASSED_ON = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
]);

/**
 * Returns whether the sender of a request runs on this machine and no proxy says that it passed the request on.
 * `TRUST_PROXY_HOPS` does not matter: a trusted proxy on this machine passes on requests of others too.
 */
export function isLocalCaller({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): boolean {
  if (!isLoopback(socket.remoteAddress ?? '')) return false;
  return !Object.keys(headers).some((name) => PASSED_ON.has(name) || name.startsWith('x-forwarded-'));
}
