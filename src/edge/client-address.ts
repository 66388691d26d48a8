/** Finds the client address that a request is counted under, behind any number of trusted proxies. */

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';

/**
 * Returns an IPv4 address, or the /64 network of an IPv6 address. Returns `gone` if the connection is already closed.
 */
export type ClientAddressOf = (request: IncomingMessage) => string;

/**
 * Each trusted proxy appends the address of its peer to `X-Forwarded-For`, so the client is the entry that the
 * outermost trusted proxy appended. The client can forge every earlier entry. If a trusted proxy appended no address
 * (`unknown`), the request is counted under the address of that proxy.
 * @param trustedHops number of trusted proxies; 0 ignores the header
 */
export function clientAddresses(trustedHops: number): ClientAddressOf {
  const trust = (_address: string, hop: number): boolean => hop < trustedHops;
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    // A closed connection has no address, whatever the types of the package say.
    const claimed = trustedHops === 0 ? peer : ((proxyAddr(request, trust) as string | undefined) ?? peer);
    return clientNetwork(claimed) ?? clientNetwork(peer) ?? 'gone';
  };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True if the address belongs to this machine, IPv4-mapped or not. */
export function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && LOOPBACK.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Matches an address with a port. Some proxies append the port, which differs between connections of one client. */
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/;
/** Prefix of an IPv4 address on a dual-stack socket. Most requests to most services have it. */
const MAPPED = '::ffff:';

/**
 * Returns an IPv4 address, or the /64 network of an IPv6 address: a household or a server gets at least a /64 and may
 * use any address in it. An IPv4-mapped IPv6 address is returned as the IPv4 address.
 * @returns undefined if the text is not an address
 */
export function clientNetwork(text: string): string | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  // Node's parser decides what an address is. ipaddr.js also accepts `127.1`, and throws and catches for each IPv6.
  const unmapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
  if (isIPv4(unmapped)) return unmapped;
  if (!isIPv6(address)) return undefined;
  // Node accepts more zone names than ipaddr.js does.
  const [withoutZone] = address.split('%');
  const ipv6 = ipaddr.IPv6.parse(withoutZone!);
  if (ipv6.isIPv4MappedAddress()) return ipv6.toIPv4Address().toString();
  const network = ipv6.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
