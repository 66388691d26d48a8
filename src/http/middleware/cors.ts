/** Which web pages may read replies: any those of public routes, the service's own front ends those of the others. */

import type { RequestHandler, Response } from 'express';

const EXPOSED = 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id';
const REQUEST_HEADERS = 'Authorization, Content-Type, X-Request-Id';
const PREFLIGHT_SECONDS = '600';

export const anyOrigin: RequestHandler = (request, response, next) => {
  if (request.headers.origin !== undefined) allow(response, '*');
  next();
};

/** @param webHosts host[:port] of the front ends; the `www.` form of each is one too */
export function webOrigins(webHosts: readonly string[]): RequestHandler {
  const hosts = new Set(webHosts.flatMap((host) => [host, `www.${host}`]).map((host) => host.toLowerCase()));
  return (request, response, next) => {
    // A cache must not give the reply for one origin, or for none, to another.
    response.append('Vary', 'Origin');
    const { origin } = request.headers;
    const [, host] = /^https?:\/\/(.+)$/.exec(origin ?? '') ?? [];
    if (host !== undefined && hosts.has(host.toLowerCase())) allow(response, origin!);
    next();
  };
}

function allow(response: Response, origin: string): void {
  response.set('Access-Control-Allow-Origin', origin);
  response.set('Access-Control-Expose-Headers', EXPOSED);
}

/** Answers OPTIONS of a path: what may be sent there, and for a preflight for how long that is known. */
export function preflight(methods: readonly string[]): RequestHandler {
  const allowed = ['OPTIONS', ...methods].join(', ');
  return (_request, response) => {
    response.set('Allow', allowed);
    if (response.get('Access-Control-Allow-Origin') !== undefined) {
      response.set('Access-Control-Allow-Methods', allowed);
      response.set('Access-Control-Allow-Headers', REQUEST_HEADERS);
      response.set('Access-Control-Max-Age', PREFLIGHT_SECONDS);
    }
    response.status(204).end();
  };
}
