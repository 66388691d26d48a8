/**
 * Sign-in: two ways to prove control of a wallet's key, and one kind of session.
 *
 * Uses: redis, domain.
 * Begin at `challenge.ts` for typed data, `siwe.ts` for SIWE messages, then `session.ts`.
 */

import type { Redis } from 'ioredis';
import { readAddress } from '../domain/address.ts';
import { webHostForms } from '../domain/web-hosts.ts';
import { answerChallenge, type Challenge, issueChallenge } from './challenge.ts';
import { openChallenges } from './challenges.ts';
import { openNonces } from './nonce.ts';
import { openSessions } from './session.ts';
import { checkSiweLogin } from './siwe.ts';

export type { LoginMessage, LoginTypedData } from './challenge.ts';
export { SESSION_SECONDS } from './session.ts';

export interface AuthOptions {
  /** Redis that stores the challenges. It can differ from the engine's Redis. */
  readonly redis: Redis;
  /** Name of the EIP-712 domain, and `iss` of the tokens. */
  readonly serviceName: string;
  /** host[:port] of each web front end; its bare and its `www.` form are accepted. */
  readonly webHosts: readonly string[];
  /** At least 32 bytes. */
  readonly jwtSecret: string;
  /** Previous secret. Tokens that were signed with it stay valid. */
  readonly jwtSecretPrevious?: string | undefined;
  /** Unix milliseconds; default the system clock. The age of a challenge is read from Redis' clock instead. */
  readonly nowMs?: () => number;
}

/**
 * Wallets are returned in lower case. Every method rejects an invalid address with `VALIDATION_ERROR` and throws
 * `SERVICE_UNAVAILABLE` if Redis fails. `session` takes no address and does not use Redis.
 */
export interface Auth {
  /** Issues an EIP-712 challenge. It replaces any earlier one of the wallet. */
  challenge(address: string): Promise<Challenge>;
  /** Throws `BAD_REQUEST` unless the signature answers the wallet's current challenge. */
  verify(address: string, signature: string): Promise<{ verified: true; token: string }>;
  /** Issues a SIWE nonce of 32 hex digits. It replaces any earlier one of the wallet. */
  nonce(address: string): Promise<string>;
  /** Throws the lower-case code of the first failed check. */
  verifySiwe(address: string, message: string, signature: string): Promise<{ sessionToken: string }>;
  /** Returns the wallet of the session in an `Authorization` header. Throws `UNAUTHORIZED` without a valid session. */
  session(authorization: string | undefined): { wallet: string };
}

export function openAuth(options: AuthOptions): Auth {
  const { serviceName, nowMs = Date.now } = options;
  const challenges = openChallenges(options.redis);
  const { jwtSecret, jwtSecretPrevious } = options;
  const nonces = openNonces(jwtSecretPrevious === undefined ? [jwtSecret] : [jwtSecret, jwtSecretPrevious]);
  const hosts = webHostForms(options.webHosts);
  const sessions = openSessions({
    issuer: serviceName,
    secret: jwtSecret,
    previousSecret: jwtSecretPrevious,
    nowMs,
  });

  return {
    async challenge(address) {
      return issueChallenge(challenges, serviceName, readAddress(address), nowMs());
    },
    async verify(address, signature) {
      const wallet = readAddress(address);
      await answerChallenge(challenges, serviceName, wallet, signature);
      return { verified: true, token: sessions.issue(wallet) };
    },
    async nonce(address) {
      const wallet = readAddress(address);
      const nonce = nonces.issue(wallet, nowMs());
      await challenges.issue('siwe', wallet, nonce);
      return nonce;
    },
    async verifySiwe(address, message, signature) {
      const wallet = readAddress(address);
      await checkSiweLogin(challenges, nonces, hosts, { wallet, message, signature }, nowMs());
      return { sessionToken: sessions.issue(wallet) };
    },
    session: (authorization) => ({ wallet: sessions.read(authorization) }),
  };
}
