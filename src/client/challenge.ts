/**
 * Reads challenges. A wallet signs only typed data that this client has built, so a hostile answer cannot get another
 * signature. Any challenge that differs from a login of now for the own address is refused.
 */

import type { Connection } from './connection.ts';
import { type Answer, replyOf, unreadable } from './exchange.ts';
import { shownTime } from './own-clock.ts';
import type { LoginTypedData } from './replies.ts';
import { loginTypedData, NONCE } from './sign-in-message.ts';

/** Longest time between the issue of a challenge and now, either way. Challenges are valid for as long. */
const FRESH_MS = 5 * 60_000;
/** Furthest that the own clock may be wrong: a time zone that was taken for another. */
const FURTHEST_MS = 24 * 3_600_000;
const MAX_NAME_LENGTH = 64;

type Untrusted<Value> = Value extends string
  ? unknown
  : { readonly [Name in keyof Value]?: Untrusted<Value[Name]> };

/**
 * Returns the typed data to sign, built here.
 * @throws RedbookError `UNREADABLE_ANSWER` when the challenge asks for any other signature
 */
export function readChallenge(connection: Connection, address: string, answer: Answer): LoginTypedData {
  const { typedData } = replyOf<{ typedData?: Untrusted<LoginTypedData> | null }>(answer);
  const { name } = Object(typedData?.domain);
  const { nonce, issuedAt } = Object(typedData?.message);
  const refuse = (fault: string): never => {
    throw unreadable(`the challenge was not signed: ${fault}`, answer);
  };
  if (!isName(name, connection.serviceName)) return refuse('it names another service');
  if (typeof nonce !== 'string' || !NONCE.test(nonce)) return refuse('its nonce is not 32 hex digits');
  if (typeof issuedAt !== 'string' || !isFresh(connection, issuedAt, answer))
    return refuse('it was not issued within five minutes of now');
  const own = loginTypedData(name, { address: address.toLowerCase(), nonce, issuedAt });
  return isSame(typedData, own) ? own : refuse('it is not the login of this address');
}

const isName = (name: unknown, expected: string | undefined): name is string =>
  expected === undefined
    ? typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH && !/\p{C}/u.test(name)
    : name === expected;

/**
 * True for a time within five minutes of now. If the own clock is wrong, by a day at most, the `Date` of the answer
 * stands in for it. A hostile service may write any `Date`, and so gets a signature of a time up to a day away; its nonce
 * has to be one that the true service has issued within five minutes all the same.
 */
function isFresh(connection: Connection, issuedAt: string, { header }: Answer): boolean {
  const issuedMs = Date.parse(issuedAt);
  const nowMs = shownTime(connection);
  const dateMs = Date.parse(header('Date') ?? '');
  if (Number.isNaN(issuedMs) || new Date(issuedMs).toISOString() !== issuedAt) return false;
  const isNear = (atMs: number): boolean => Math.abs(issuedMs - atMs) <= FRESH_MS;
  return isNear(nowMs) || (isNear(dateMs) && Math.abs(dateMs - nowMs) <= FURTHEST_MS);
}

/** True when both have the same members, and no others, however deep. */
function isSame(one: unknown, own: unknown): boolean {
  if (typeof own !== 'object' || own === null) return one === own;
  if (typeof one !== 'object' || one === null || Array.isArray(one) !== Array.isArray(own)) return false;
  const members = Object.entries(own);
  return (
    Object.keys(one).length === members.length &&
    members.every(
      ([name, value]) => Object.hasOwn(one, name) && isSame((one as Record<string, unknown>)[name], value),
    )
  );
}
