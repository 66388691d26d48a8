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

/** Some proxies write the port too; each connection has another. */
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/;

/** An IPv4 address, or the /64 of an IPv6 one; undefined for what is no address. */
export function addressKey(text: string): string | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  const [, mapped] = MAPPED_IPV4.exec(address) ?? [];
  const unmapped = mapped ?? address;
  if (isIPv4(unmapped)) return unmapped;
  return isIPv6(address) ? blockOf(address) : undefined;
}

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
  return addressKey(claimed) ?? addressKey(peer) ?? peer;
}
