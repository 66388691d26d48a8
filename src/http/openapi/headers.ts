/** Documents the reply headers that a client of this API uses. */

const integer = (minimum: number) => ({ type: 'integer', minimum });
const text = { type: 'string', minLength: 1 };

export const HEADERS = {
  'X-Request-Id': {
    description: 'Id of the request in the log: the one that the request carries, or a new one.',
    schema: text,
  },
  'RateLimit-Limit': {
    description: 'Requests of one session, or of one address without one, in any 60 seconds.',
    schema: integer(1),
  },
  'RateLimit-Remaining': { description: 'Requests that are left in the window.', schema: integer(0) },
  'RateLimit-Reset': {
    description: 'Unix seconds at which the oldest request of the last 60 seconds stops counting.',
    schema: integer(0),
  },
  'Retry-After': { description: 'Seconds to wait.', schema: integer(1) },
  ETag: { description: 'Tag of the reply, for `If-None-Match`.', schema: text },
  'Cache-Control': { description: 'Caches may keep the reply for a second.', schema: text },
  Deprecation: { description: 'The path is deprecated.', schema: { type: 'string', const: 'true' } },
  'Content-Disposition': {
    description: 'Name under which a browser saves a reply that is not JSON.',
    schema: text,
  },
  Link: {
    description: 'The path that replaces this one (`successor-version`), or the next page (`next`).',
    schema: text,
  },
} as const;

export type HeaderName = keyof typeof HEADERS;

export const LIMIT_HEADERS: readonly HeaderName[] = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
];

export const headerRefs = (names: readonly HeaderName[]): Record<string, { $ref: string }> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
