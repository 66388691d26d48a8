/** Chooses the id of a request, which appears in its reply and in all its log lines. */

import { randomUUID } from 'node:crypto';

/** Form of an id from a proxy or a client that is kept. Other ids might mislead the reader of a log. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Returns the given id, or a new one. @param given the request's `X-Request-Id` */
export const requestIdOf = (given?: string | string[]): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
