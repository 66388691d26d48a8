/** Finds the client that an address counts for. */

import { isIPv4, isIPv6 } from 'node:net';

/** Some proxies write the port too; each connection has another. */
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/;
/** IPv4 as a socket that takes both writes it, which is most requests to most services. */
const MAPPED = '::ffff:';
const MAPPED_GROUPS = [0, 0, 0, 0, 0, 0xffff];

/**
 * An IPv4 address, in whatever form it comes, or the /64 of an IPv6 one: a household or a server is given at least
 * that much, and may use any address in it. Undefined for what is no address.
 */
export function clientAddress(text: string): string | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  const unmapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
  if (isIPv4(unmapped)) return unmapped;
  if (!isIPv6(address)) return undefined;
  const groups = groupsOf(address);
  if (MAPPED_GROUPS.every((group, at) => groups[at] === group))
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight numbers of an IPv6 address; its zone is left out. */
function groupsOf(address: string): number[] {
  const [head = [], tail = []] = address.split('%')[0]!.split('::').map(hexGroups);
  const zeros = Array<number>(8 - head.length - tail.length).fill(0);
  return [...head, ...zeros, ...tail];
}

/** Reads the groups of a part without `::`. The last two may be written as IPv4. */
function hexGroups(part: string): number[] {
  return part
    .split(':')
    .filter((group) => group !== '')
    .flatMap((group) => {
      if (!group.includes('.')) return [Number.parseInt(group, 16)];
      const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
      return [a * 256 + b, c * 256 + d];
    });
}
