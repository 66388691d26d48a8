/** Refuses requests whose head no route may answer. */

import type { IncomingMessage } from 'node:http';
import { Refusal } from '../../domain/errors.ts';

export const ONE_HOST = 'exactly one Host header is required';

const HOST = 'host';
/** As Node reads the header. By then, Node has told a client of HTTP/1.1 to go on. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** @returns undefined when the head is fine */
export function refusedHead(request: IncomingMessage): Refusal | undefined {
  const { url, headers, httpVersion } = request;
  if (!hasOneHost(request)) return new Refusal('BAD_REQUEST', ONE_HOST);
  if (headers.expect !== undefined && httpVersion !== '1.0' && !CONTINUE.test(headers.expect))
    return new Refusal('EXPRESS_ERR_EXPECTATION_FAILED');
  return isDecodable(url!) ? undefined : new Refusal('EXPRESS_ERR_INVALID_URL');
}

/**
 * RFC 9112 (3.2): a proxy and this server must not read two different hosts out of one request. Node keeps the first
 * one. HTTP/1.0 may leave it out.
 */
export function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** A URL with a percent sign that stands for nothing is refused, because Express would decode its query leniently. */
function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}
