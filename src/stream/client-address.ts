/** Finds the address that a connection is counted for. */

import type { IncomingMessage } from 'node:http';
import { clientAddress } from '../domain/client-address.ts';

/**
 * Counted is the address that the nearest proxy we do not trust (or the client itself) came from: each of the
 * `hops` trusted proxies has added the address of its peer at the end of `X-Forwarded-For`, and nothing before that
 * is believed. A trusted proxy that says something else (`unknown`) is counted itself.
 */
export function clientKey(request: IncomingMessage, hops: number): string {
  const peer = request.socket.remoteAddress ?? 'gone';
  const header = request.headers['x-forwarded-for'];
  const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  const claimed = [...forwarded, peer].at(-1 - Math.min(hops, forwarded.length))!;
  return clientAddress(claimed) ?? clientAddress(peer) ?? peer;
}
