/** Distinguishes requests from this machine from requests that came over a network. */

import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../edge/client-address.ts';

/** Headers that a proxy adds when it forwards a request. All `x-forwarded-` headers count too. */
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
 * Returns true if the sender of a request runs on this machine and no header shows that a proxy forwarded it.
 * `TRUST_PROXY_HOPS` does not matter: a trusted proxy on this machine also forwards requests from other machines.
 */
export function isLocalCaller({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): boolean {
  if (!isLoopback(socket.remoteAddress ?? '')) return false;
  return !Object.keys(headers).some((name) => PASSED_ON.has(name) || name.startsWith('x-forwarded-'));
}
