/** Tells callers of a deprecated path which path replaces it. */

import { addHeader } from '../response/index.ts';
import type { Cors } from './cors.ts';

/** Characters that must be encoded in a path between the angle brackets of a Link header. */
const DELIMITERS = /[<>"\s]/g;

/** Path of a route up to its parameter. */
const literalOf = (path: string): string => path.split(':')[0]!;

/** @param successor path of the route that replaces `path`, with the same parameter */
export function deprecation(path: string, successor: string): Cors {
  const replaced = literalOf(path);
  const replacing = literalOf(successor);
  return (request, response) => {
    const link = `${replacing}${request.path.slice(replaced.length)}`.replace(DELIMITERS, encodeURIComponent);
    addHeader(response, 'Deprecation', 'true');
    addHeader(response, 'Link', `<${link}>; rel="successor-version"`);
  };
}
