/** Rejects requests whose head is invalid for every route. */

import type { IncomingMessage } from 'node:http';
import { Refusal } from '../../domain/errors.ts';

export const ONE_HOST = 'exactly one Host header is required';

const HOST = 'host';
/** The pattern by which Node reads the Expect header. Node has already sent `100 Continue` to an HTTP/1.1 client. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** @returns undefined if the head is valid */
export function refusedHead(request: IncomingMessage): Refusal | undefined {
  const { url, headers, httpVersion } = request;
  if (!hasOneHost(request)) return new Refusal('BAD_REQUEST', ONE_HOST);
  if (headers.expect !== undefined && httpVersion !== '1.0' && !CONTINUE.test(headers.expect))
    return new Refusal('EXPRESS_ERR_EXPECTATION_FAILED');
  return isDecodable(url!) ? undefined : new Refusal('EXPRESS_ERR_INVALID_URL');
}

/**
 * Returns true if the request has one Host header. Otherwise a proxy and this server could read different hosts, since
 * Node keeps the first (RFC 9112, 3.2). HTTP/1.0 may omit the header.
 */
export function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** Returns false for an invalid percent escape. Express would decode such a query leniently. */
function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}
