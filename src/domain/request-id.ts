/** The name of a request, in every reply and in every line that the log has about it. */

import { randomUUID } from 'node:crypto';

/** One that a proxy or a client gave is kept, unless it could confuse who reads the log. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** @param given the request's `X-Request-Id` */
export const requestIdOf = (given?: string | string[]): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
