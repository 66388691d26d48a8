/** Whom a connection counts for. */

import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The first four groups of an IPv6 address, which one household or one host has to itself. */
function blockOf(address: string): string {
  const [head = '', tail] = address.split('%')[0]!.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const rest = (tail ?? '').split(':').filter((group) => group !== '');
  // An IPv4 tail stands for two groups; it never reaches into the first four.
  const restLength = rest.length + (rest.at(-1)?.includes('.') ? 1 : 0);
  const missing = tail === undefined ? 0 : Math.max(0, 8 - groups.length - restLength);
  const all = [...groups, ...Array<string>(missing).fill('0'), ...rest];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** One key for whatever a single subscriber can easily have many of: an IPv4 address, or the /64 of an IPv6 one. */
export function addressKey(address: string): string {
  const [, mapped] = MAPPED_IPV4.exec(address) ?? [];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  return isIPv6(address) ? blockOf(address) : address;
}

/**
 * The address that the nearest proxy we do not trust (or the client itself) came from: each of the `hops` trusted
 * proxies has added the address of its peer at the end of `X-Forwarded-For`. Nothing before that is believed.
 */
export function clientAddress(request: IncomingMessage, hops: number): string | undefined {
  const peer = request.socket.remoteAddress;
  if (hops === 0) return peer;
  const header = request.headers['x-forwarded-for'];
  const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  return [...forwarded, peer].at(-1 - Math.min(hops, forwarded.length));
}
