/** Sign-in on its own Redis, with direct access to its records. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { CHALLENGE_LIFETIME_MS } from '../../src/auth/challenges.ts';
import { type Auth, type AuthOptions, openAuth } from '../../src/auth/index.ts';
import { challengeKey, type Flow } from '../../src/auth/keys.ts';
import { type ErrorCode, Refusal } from '../../src/domain/errors.ts';
import { openRedis } from '../support/redis-server.ts';
import { freshRedis } from '../support/servers.ts';

const SECRET = 'a secret of the tests, 32 bytes or more';

export interface AuthFixture {
  readonly redis: Redis;
  /** Opens another replica: an Auth with its own connection to the same Redis. */
  open(options?: Partial<AuthOptions>): Auth;
  /** Changes the age of a record, so that tests need not wait for it to expire. */
  age(flow: Flow, address: string, ageMs: number): Promise<void>;
  /** Makes `nonce` the current one, for messages signed elsewhere. */
  plant(address: string, nonce: string): Promise<void>;
  close(): Promise<void>;
}

export async function openSignIn(): Promise<AuthFixture> {
  const url = await freshRedis();
  const connections = [openRedis(url)];
  const redis = connections[0]!;
  return {
    redis,
    open(options) {
      const connection = openRedis(url, 'queue-api');
      connections.push(connection);
      return openAuth({
        redis: connection,
        serviceName: 'Redbook',
        webHosts: ['redbook.example', 'localhost:8080'],
        jwtSecret: SECRET,
        ...options,
      });
    },
    async age(flow, address, ageMs) {
      const found = await redis.pexpire(
        challengeKey(flow, address.toLowerCase()),
        CHALLENGE_LIFETIME_MS - ageMs,
      );
      expect(found, 'a record to age').to.equal(1);
    },
    async plant(address, nonce) {
      await redis.set(challengeKey('siwe', address.toLowerCase()), nonce, 'PX', CHALLENGE_LIFETIME_MS);
    },
    async close() {
      await Promise.all(connections.map((connection) => connection.quit()));
    },
  };
}

/** Returns the refusal of a login. A session or any other error fails the test. */
export async function refusalOf(login: Promise<unknown>): Promise<Refusal> {
  try {
    await login;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('a session in place of a refusal');
}

/** Returns the code of a login's refusal, or `session`. Any other error fails the test. */
export async function outcome(login: Promise<unknown>): Promise<ErrorCode | 'session'> {
  try {
    await login;
    return 'session';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}
