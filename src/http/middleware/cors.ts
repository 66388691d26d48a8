/** CORS: pages of any origin may read public routes. Only the service's own front ends may read the others. */

import { validateHeaderValue } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { isLoopbackHost, webHostForms } from '../../domain/web-hosts.ts';
import { addHeader, endReply, hasHeader, writeHead } from '../response/index.ts';

/** `Date` is for clients whose own clock is wrong. */
const EXPOSED =
  'Date, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id';
const REQUEST_HEADERS = 'Authorization, Content-Type, X-Request-Id';
const PREFLIGHT_SECONDS = '600';

/** Sets the headers that let a browser page read the reply. */
export type Cors = (request: Request, response: Response) => void;

export const anyOrigin: Cors = (request, response) => {
  if (request.headers.origin !== undefined) allow(response, '*');
};

/** For cacheable replies: the same headers for every origin, and for requests without one. */
export const everyOrigin: Cors = (_request, response) => allow(response, '*');

/**
 * @param webHosts host[:port] of the front ends. A page without TLS is accepted from this machine only: a network could
 *   put its own script into any other.
 */
export function webOrigins(webHosts: readonly string[]): Cors {
  const hosts = webHostForms(webHosts);
  return (request, response) => {
    // A cache must not serve the reply for one origin, or for no origin, to another.
    addHeader(response, 'Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined) return;
    const [, scheme, host = ''] = /^(https?):\/\/(.+)$/.exec(origin) ?? [];
    if (!hosts.has(host.toLowerCase()) || (scheme === 'http' && !isLoopbackHost(host))) return;
    validateHeaderValue('Access-Control-Allow-Origin', origin);
    allow(response, origin);
  };
}

function allow(response: Response, origin: string): void {
  addHeader(response, 'Access-Control-Allow-Origin', origin);
  addHeader(response, 'Access-Control-Expose-Headers', EXPOSED);
}

/** Answers OPTIONS requests with the allowed methods and headers. A preflight also gets their maximum age. */
export function preflight(methods: readonly string[]): RequestHandler {
  const allowed = ['OPTIONS', ...methods].join(', ');
  return (_request, response) => {
    addHeader(response, 'Allow', allowed);
    if (hasHeader(response, 'Access-Control-Allow-Origin')) {
      addHeader(response, 'Access-Control-Allow-Methods', allowed);
      addHeader(response, 'Access-Control-Allow-Headers', REQUEST_HEADERS);
      addHeader(response, 'Access-Control-Max-Age', PREFLIGHT_SECONDS);
    }
    writeHead(response, 204);
    endReply(response);
  };
}
