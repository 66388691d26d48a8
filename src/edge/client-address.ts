/** Finds the client that a request is counted for, behind any number of trusted proxies. */

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';

/** Returns an IPv4 address, or the /64 network of an IPv6 address; `gone` when the connection is closed already. */
export type ClientAddressOf = (request: IncomingMessage) => string;

/**
 * Each trusted proxy has appended the address of its peer to `X-Forwarded-For`, so the client is the entry that the
 * outermost trusted proxy appended. Entries before it are the client's own words. A trusted proxy that appended no
 * address (`unknown`) is counted itself.
 * @param trustedHops number of trusted proxies; 0 ignores the header
 */
export function clientAddresses(trustedHops: number): ClientAddressOf {
  const trust = (_address: string, hop: number): boolean => hop < trustedHops;
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    const claimed = trustedHops === 0 ? peer : proxyAddr(request, trust);
    return clientNetwork(claimed) ?? clientNetwork(peer) ?? 'gone';
  };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True for an address of this machine, IPv4-mapped or not. */
export function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && LOOPBACK.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Some proxies append the port too, which differs between the connections of one client. */
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/;
/** Prefix of an IPv4 address on a socket that takes both families. Most requests to most services have it. */
const MAPPED = '::ffff:';

/**
 * Returns an IPv4 address, or the /64 network of an IPv6 address. A household or a server is given at least a /64, and
 * may use any address in it. An IPv4-mapped IPv6 address is the IPv4 address.
 * @returns undefined when the text is no address
 */
export function clientNetwork(text: string): string | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  // Node's own parser decides what an address is. ipaddr.js reads `127.1` too, and throws and catches for each IPv6.
  const unmapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
  if (isIPv4(unmapped)) return unmapped;
  if (!isIPv6(address)) return undefined;
  // Node admits more zone names than ipaddr.js.
  const [withoutZone] = address.split('%');
  const ipv6 = ipaddr.IPv6.parse(withoutZone!);
  if (ipv6.isIPv4MappedAddress()) return ipv6.toIPv4Address().toString();
  const network = ipv6.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
