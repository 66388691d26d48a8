/** A service whose answers a test scripts, on a virtual clock. */

import { type ConnectionOptions, type Fetch, openConnection } from '../../src/client/index.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

export interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
  /** The connection fails. */
  readonly cut?: true;
  /** No answer comes. */
  readonly hang?: true;
}

interface Seen {
  readonly atMs: number;
  readonly route: string;
  readonly token: string | undefined;
}

export const ADDRESS = `0x${'a1'.repeat(20)}`;
export const LIFE_S = 8 * 3_600;
export const BID = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '1', size: '1' } as const;
export const UNAUTHORIZED = { status: 401, body: { code: 'UNAUTHORIZED', error: 'expired' } };

/**
 * @param answer returns the answer to a request, given its route and the number of earlier requests
 * @param options of the connection
 */
export function stage(
  answer: (route: string, number: number, clock: VirtualClock) => Scripted,
  options: Pick<ConnectionOptions, 'serviceName' | 'log'> = {},
) {
  const clock = virtualClock();
  const startMs = clock.now();
  const seen: Seen[] = [];
  const fetch: Fetch = async (url, { method, headers }) => {
    const route = `${method} ${new URL(url).pathname}`;
    const scripted = answer(route, seen.length, clock);
    seen.push({ atMs: clock.now() - startMs, route, token: headers.Authorization?.replace('Bearer ', '') });
    if (scripted.cut) throw new TypeError('fetch failed');
    if (scripted.hang) await new Promise(() => undefined);
    const { status = 200, body = {} } = scripted;
    const replyHeaders: Readonly<Record<string, string>> = { ...scripted.headers };
    return {
      status,
      headers: { get: (name) => replyHeaders[name] ?? null },
      text: async () => (typeof body === 'string' ? body : JSON.stringify(body)),
    };
  };
  const random = (bytes: Uint8Array): void => void crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
  return {
    clock,
    seen,
    startMs,
    connection: openConnection({ baseUrl: 'http://model', fetch, clock, random, ...options }),
  };
}

let tokens = 0;
export function tokenAt(clock: VirtualClock, lifeS = LIFE_S): string {
  tokens += 1;
  const iat = Math.floor(clock.now() / 1_000);
  const claims = { sub: ADDRESS, iat, exp: iat + lifeS, jti: tokens };
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
}

/** Returns a signer of `ADDRESS`. @param onSign called with each text or typed data that it is asked to sign */
export const signer = (prompts: boolean, onSign: (asked: unknown) => void = () => undefined) => ({
  address: ADDRESS,
  prompts,
  signTypedData: async (typedData: unknown) => {
    onSign(typedData);
    return '0x';
  },
  signMessage: async (message: string) => {
    onSign(message);
    return '0x';
  },
});

/** Returns a challenge as the service gives it. */
export const challengeAt = (nowMs: number, address = ADDRESS) => ({
  typedData: {
    domain: { name: 'Redbook', version: '1' },
    types: {
      Login: [
        { name: 'address', type: 'address' },
        { name: 'nonce', type: 'string' },
        { name: 'issuedAt', type: 'string' },
      ],
    },
    primaryType: 'Login',
    message: {
      address: address.toLowerCase(),
      nonce: '0123456789abcdef'.repeat(2),
      issuedAt: new Date(nowMs).toISOString(),
    },
  },
  expiresIn: '5m',
});
