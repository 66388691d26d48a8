/** Chooses the id of a request, which appears in its reply and in all its log lines. */

import { randomInt, randomUUID } from 'node:crypto';

/** Form of an id from a proxy or a client that is kept. Other ids might mislead the reader of a log. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Returns the given id, or a new one. @param given the request's `X-Request-Id` */
export const requestIdOf = (given?: string | string[]): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();

/** Ids of a process begin alike, and end with a number that begins anywhere: a UUID for each takes four times as long. */
const PREFIX = randomUUID().slice(0, 24);
const NUMBERS = 2 ** 48;
let next = randomInt(NUMBERS - 1);

function newRequestId(): string {
  next = (next + 1) % NUMBERS;
  return PREFIX + next.toString(16).padStart(12, '0');
}
