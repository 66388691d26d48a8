/** Sends forged tokens to protected operations. A token made by the rules proves that they fail for their fault. */

import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as signWith,
} from 'node:crypto';
import type { Random } from '../../support/seed.ts';
import { addressOf, ask, type Plain } from './client.ts';
import { JWT_SECRET } from './secrets.ts';
import { diceOf } from './sender.ts';
import { type Scene, SYMBOLS } from './target.ts';
import { Line } from './wire.ts';
import type { SignedIn } from './world.ts';

interface Forgery {
  readonly name: string;
  /** Header lines that carry the token. */
  readonly headers: readonly string[];
  /** The token, if it is not in `headers` alone. */
  readonly query?: string;
}

interface Victim {
  /** In lower case. */
  readonly address: string;
  /** A session of the victim that is valid. */
  readonly token: string;
}

type Claims = Readonly<Record<string, unknown>>;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const HS256 = { alg: 'HS256', typ: 'JWT' };
const HOUR = 3_600;

function hmac(header: object, claims: Claims, key: string | Buffer, hash = 'sha256'): string {
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${createHmac(hash, key).update(content).digest('base64url')}`;
}

function signedBy(key: KeyObject, header: object, claims: Claims, hash: string | null): string {
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${signWith(hash, Buffer.from(content), key).toString('base64url')}`;
}

const RSA = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ED = generateKeyPairSync('ed25519');
const RSA_PEM = createPublicKey(
  createPrivateKey(RSA.privateKey.export({ type: 'pkcs8', format: 'pem' })),
).export({
  type: 'spki',
  format: 'pem',
});

const claimsOf = ({ address }: Victim): Claims => {
  const iat = Math.floor(Date.now() / 1_000);
  return { iss: 'Redbook', sub: address, iat, exp: iat + HOUR };
};

/** A token as the service makes it, by the key of the cluster. It proves that forged ones fail for their fault. */
export const validForgery = (victim: Victim): string => hmac(HS256, claimsOf(victim), JWT_SECRET);

type Forge = (victim: Victim, dice: Random) => string;

/** Claims that the right key signed, and that break a rule. */
const claiming =
  (change: (claims: Claims, now: number) => Claims): Forge =>
  (victim) =>
    hmac(HS256, change(claimsOf(victim), Math.floor(Date.now() / 1_000)), JWT_SECRET);

/** Takes a claim away. */
const without =
  (name: string): Forge =>
  (victim) =>
    hmac(HS256, { ...claimsOf(victim), [name]: undefined }, JWT_SECRET);

/** The right key under another header. */
const headed =
  (header: object, key: string | Buffer = JWT_SECRET, hash = 'sha256'): Forge =>
  (victim) =>
    hmac(header, claimsOf(victim), key, hash);

/** Edits a part of the victim's token. */
const edited =
  (edit: (parts: [string, string, string], dice: Random) => string): Forge =>
  ({ token }, dice) =>
    edit(token.split('.') as [string, string, string], dice);

const changed = (part: string, change: (value: Record<string, unknown>) => object): string =>
  encode(change(JSON.parse(Buffer.from(part, 'base64url').toString())));

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Exchanges one character for another, also in bits that base64 leaves unused. */
function exchange(text: string, at: number, by: number): string {
  const place = (ALPHABET.indexOf(text[at]!) + by) % ALPHABET.length;
  return text.slice(0, at) + ALPHABET[place] + text.slice(at + 1);
}

const ALGORITHMS: readonly (readonly [name: string, forge: Forge])[] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg): [string, Forge][] => [
    [`alg ${alg}`, (victim) => `${encode({ alg })}.${encode(claimsOf(victim))}.`],
    [`alg ${alg} with a signature`, headed({ alg })],
  ]),
  ['no alg', headed({ typ: 'JWT' })],
  ['alg as a list', headed({ alg: ['HS256'] })],
  ['alg null', headed({ alg: null })],
  ['alg hs256', headed({ alg: 'hs256' })],
  ['HS384', headed({ alg: 'HS384' }, JWT_SECRET, 'sha384')],
  ['HS512', headed({ alg: 'HS512' }, JWT_SECRET, 'sha512')],
  ['HS512 with a digest of HS256', headed({ alg: 'HS512' })],
  ['RS256 with the secret', headed({ alg: 'RS256' })],
  ['RS256', (victim) => signedBy(RSA.privateKey, { alg: 'RS256' }, claimsOf(victim), 'sha256')],
  ['PS256', (victim) => signedBy(RSA.privateKey, { alg: 'PS256' }, claimsOf(victim), 'sha256')],
  ['ES256', (victim) => signedBy(EC.privateKey, { alg: 'ES256' }, claimsOf(victim), 'sha256')],
  ['EdDSA', (victim) => signedBy(ED.privateKey, { alg: 'EdDSA' }, claimsOf(victim), null)],
  ['HS256 with a public key', headed(HS256, String(RSA_PEM))],
  ['encrypted', (victim) => `${encode({ alg: 'dir', enc: 'A256GCM' })}..${encode(claimsOf(victim))}.x.y`],
];

const KEYS: readonly (readonly [name: string, forge: Forge])[] = [
  ...['', 'secret', 'Redbook', 'null', 'undefined', JWT_SECRET.slice(0, -1), `${JWT_SECRET}\n`].map(
    (key): [string, Forge] => [`key ${JSON.stringify(key.slice(0, 12))}`, headed(HS256, key)],
  ),
  ['key of zeros', headed(HS256, Buffer.alloc(32))],
  ['random key', headed(HS256, randomBytes(32))],
  ['key in another case', headed(HS256, JWT_SECRET.toUpperCase())],
  ...['../../../../dev/null', '/dev/null', 'file:///dev/null', "x' union select '", '0', '__proto__'].map(
    (kid): [string, Forge] => [`kid ${kid}`, headed({ ...HS256, kid }, '')],
  ),
  [
    'jwk in the header',
    (victim) =>
      signedBy(
        RSA.privateKey,
        { alg: 'RS256', jwk: RSA.publicKey.export({ format: 'jwk' }) },
        claimsOf(victim),
        'sha256',
      ),
  ],
  ['jku', headed({ ...HS256, jku: 'https://evil.example/keys' }, 'evil')],
  ['x5u', headed({ ...HS256, x5u: 'https://evil.example/key.pem' }, 'evil')],
];

const CLAIMS: readonly (readonly [name: string, forge: Forge])[] = [
  ['expired', claiming((claims, now) => ({ ...claims, iat: now - HOUR, exp: now - 1 }))],
  ['expired long ago', claiming((claims) => ({ ...claims, iat: 1_600_000_000, exp: 1_600_003_600 }))],
  ['no exp', without('exp')],
  ['exp as a text', claiming((claims, now) => ({ ...claims, exp: String(now + HOUR) }))],
  ['exp null', claiming((claims) => ({ ...claims, exp: null }))],
  ['nine hours', claiming((claims, now) => ({ ...claims, exp: now + 9 * HOUR }))],
  ['for ever', claiming((claims) => ({ ...claims, exp: 99_999_999_999 }))],
  ['no iat', without('iat')],
  ['iat of tomorrow', claiming((claims, now) => ({ ...claims, iat: now + 24 * HOUR, exp: now + 25 * HOUR }))],
  ['not before tomorrow', claiming((claims, now) => ({ ...claims, nbf: now + 24 * HOUR }))],
  ['no iss', without('iss')],
  ...['redbook', 'Redbook ', 'Other', '', ['Redbook', 'Other'], null, { Redbook: 1 }].map(
    (iss): [string, Forge] => [`iss ${JSON.stringify(iss)}`, claiming((claims) => ({ ...claims, iss }))],
  ),
  ['no sub', without('sub')],
  ['sub in upper case', claiming((claims) => ({ ...claims, sub: `0x${'AB'.repeat(20)}` }))],
  ...['', '0x', 'admin', '*', `0x${'0'.repeat(39)}`, ['0x'], null, 0].map((sub): [string, Forge] => [
    `sub ${JSON.stringify(sub)}`,
    claiming((claims) => ({ ...claims, sub })),
  ]),
  ['sub with a line break', claiming((claims) => ({ ...claims, sub: `${claims.sub}\n` }))],
  ['claims as a text', () => hmacOfText('"0x0000000000000000000000000000000000000001"')],
  ['claims that are no JSON', () => hmacOfText('{')],
  ['claims as null', () => hmacOfText('null')],
];

function hmacOfText(claims: string): string {
  const content = `${encode(HS256)}.${Buffer.from(claims).toString('base64url')}`;
  return `${content}.${createHmac('sha256', JWT_SECRET).update(content).digest('base64url')}`;
}

const OTHER_WALLET = `0x${'1'.repeat(40)}`;

const EDITED: readonly (readonly [name: string, forge: Forge])[] = [
  ['other wallet', edited(([head, claims, end]) => [head, changed(claims, withSub), end].join('.'))],
  ['longer life', edited(([head, claims, end]) => [head, changed(claims, withExp), end].join('.'))],
  ['alg none on a real token', edited(([, claims]) => `${encode({ alg: 'none' })}.${claims}.`)],
  ['no signature', edited(([head, claims]) => `${head}.${claims}.`)],
  ['no signature and no point', edited(([head, claims]) => `${head}.${claims}`)],
  ['last character cut', edited((parts) => parts.join('.').slice(0, -1))],
  ['first character cut', edited((parts) => parts.join('.').slice(1))],
  ['half', edited((parts) => parts.join('.').slice(0, 60))],
  ['a point behind', edited((parts) => `${parts.join('.')}.`)],
  ['a fourth part', edited((parts) => `${parts.join('.')}.x`)],
  ['padding', edited((parts) => `${parts.join('.')}=`)],
  ['signature twice', edited(([head, claims, end]) => `${head}.${claims}.${end}${end}`)],
  ['unused bits of the last character', edited((parts) => exchangeLast(parts.join('.')))],
  ['unused bits of the claims', edited(([head, claims, end]) => [head, exchangeLast(claims), end].join('.'))],
  ...Array.from({ length: 8 }, (): [string, Forge] => ['one character', edited(exchangeOne)]),
  ['in lower case', edited((parts) => parts.join('.').toLowerCase())],
  ['percent-encoded', edited((parts) => parts.join('%2E'))],
];

const withSub = (claims: Record<string, unknown>): object => ({ ...claims, sub: OTHER_WALLET });
const withExp = (claims: Record<string, unknown>): object => ({ ...claims, exp: Number(claims.exp) + 60 });
const exchangeLast = (text: string): string => exchange(text, text.length - 1, 1);

function exchangeOne(parts: [string, string, string], dice: Random): string {
  const at = dice.below(3);
  const part = parts[at]!;
  return parts.with(at, exchange(part, dice.below(part.length), 1 + dice.below(63))).join('.');
}

/** Places and schemes in which a valid token must not count. */
const PLACES: readonly ((token: string) => Omit<Forgery, 'name'>)[] = [
  (token) => ({ headers: [], query: `token=${token}` }),
  (token) => ({ headers: [], query: `access_token=${token}` }),
  (token) => ({ headers: [], query: `Authorization=Bearer%20${token}` }),
  (token) => ({ headers: [`Cookie: token=${token}; Authorization=Bearer ${token}`] }),
  (token) => ({ headers: [`X-Authorization: Bearer ${token}`] }),
  (token) => ({ headers: [`Proxy-Authorization: Bearer ${token}`] }),
  (token) => ({ headers: [`Sec-WebSocket-Protocol: ${token}`] }),
  (token) => ({ headers: [`Authorization: Basic ${token}`] }),
  (token) => ({ headers: [`Authorization: Token ${token}`] }),
  (token) => ({ headers: [`Authorization: ${token}`] }),
  (token) => ({ headers: [`Authorization: Bearer${token}`] }),
  (token) => ({ headers: [`Authorization: Bearer "${token}"`] }),
  (token) => ({ headers: [`Authorization: Bearer ${token} x`] }),
  (token) => ({ headers: [`Authorization: Bearer x`, `Authorization: Bearer ${token}`] }),
];

const FORGERIES: readonly (readonly [name: string, forge: Forge])[] = [
  ...ALGORITHMS,
  ...KEYS,
  ...CLAIMS,
  ...EDITED,
];

/** Number of different forgeries. */
export const FORGERY_KINDS = FORGERIES.length + PLACES.length;

/** Returns the forgery of this number. Each number of a row of `FORGERY_KINDS` is another one. */
export function forgery(number: number, victim: Victim, dice: Random): Forgery {
  const index = number % FORGERY_KINDS;
  const forge = FORGERIES[index];
  if (forge === undefined)
    return { name: `place ${index - FORGERIES.length}`, ...PLACES[index - FORGERIES.length]!(victim.token) };
  return { name: forge[0], headers: [`Authorization: Bearer ${forge[1](victim, dice)}`] };
}

export interface TokenCounts {
  readonly forged: number;
  readonly accepted: number;
}

/** @throws Error if a token made by the rules is refused */
export async function tryTokens(scene: Scene, victim: SignedIn, count: number): Promise<TokenCounts> {
  const { seed, api, operations, judge, findings } = scene;
  const line = new Line(api[0]!);
  const control = await ask(line, { method: 'GET', path: '/v1/orders', token: validForgery(victim) });
  if (control.status !== 200) throw new Error(`a token made by the rules is refused: ${control.text}`);
  const protectedOnes = operations.filter(({ needsSession }) => needsSession);
  // Fewer tokens than kinds are spread over all of them.
  const step = Math.max(1, FORGERY_KINDS / count);
  let accepted = 0;
  for (let number = 0; number < count; number += 1) {
    const dice = diceOf(seed, -1 - number);
    const { name, headers, query } = forgery(seed + Math.floor(number * step), victim, dice);
    const operation = dice.pick(protectedOnes);
    const { method, path } = operation;
    const place = path.replace('{address}', victim.address).replace(/\{\w+\}/, '1');
    const body = operation.body
      ? { market: SYMBOLS[0], side: 'buy', type: 'limit', price: 10, size: 1 }
      : undefined;
    const plain: Plain = { method, path: query === undefined ? place : `${place}?${query}`, headers, body };
    const reply = await ask(line, { ...plain, from: addressOf(4, number) });
    const again = (): string => `token ${number}, ${name}: ${method} ${path} ${JSON.stringify(headers)}`;
    judge.reply({ method, path: plain.path, operation: `${method} ${path}`, again }, reply);
    if (reply.status === 401) continue;
    accepted += 1;
    findings.add('no forged token is accepted', name, `${again()}: ${reply.status} ${reply.text}`);
  }
  line.close();
  return { forged: count, accepted };
}
