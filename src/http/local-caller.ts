/** Distinguishes requests of this machine's own programs and pages from all others. */

import type { IncomingMessage } from 'node:http';
import { isLoopbackHost, webHostForms } from '../domain/web-hosts.ts';
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
 * Makes a test of requests: the sender runs on this machine, no header shows that a proxy forwarded it, and `Host` is a
 * front end or a loopback name. A stranger's page whose own name resolves to this machine (DNS rebinding) sends that
 * name. `TRUST_PROXY_HOPS` does not matter: a trusted proxy on this machine also forwards requests from other machines.
 */
export function localCallers(
  webHosts: readonly string[],
): (request: Pick<IncomingMessage, 'socket' | 'headers'>) => boolean {
  const hosts = webHostForms(webHosts);
  return ({ socket, headers }) => {
    if (!isLoopback(socket.remoteAddress ?? '')) return false;
    const { host = '' } = headers;
    if (!isLoopbackHost(host) && !hosts.has(host.toLowerCase())) return false;
    return !Object.keys(headers).some((name) => PASSED_ON.has(name) || name.startsWith('x-forwarded-'));
  };
}
