/**
 * Tests session tokens: their claims, their lifetime, the secrets that verify them, and the header that carries them.
 */

import { createHmac, generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import { openSessions, SESSION_SECONDS, type SessionOptions } from '../../src/auth/session.ts';
import { Refusal } from '../../src/domain/errors.ts';

const SECRET = 'the present secret, 32 bytes or more';
const PREVIOUS = 'the previous secret, 32 bytes or more';
const WALLET = `0x${'ab'.repeat(20)}`;
const NOW = Date.UTC(2030, 0, 1) / 1000;

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Builds a token with any header and any payload, signed with HMAC. */
function token(
  claims: unknown,
  header: unknown = { alg: 'HS256', typ: 'JWT' },
  secret = SECRET,
  hash = 'sha256',
) {
  const signed = `${base64url(header)}.${base64url(claims)}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

const CLAIMS = { iss: 'Redbook', sub: WALLET, iat: NOW, exp: NOW + SESSION_SECONDS };

describe('sessions', () => {
  let nowSeconds = NOW;
  const open = (options?: Partial<SessionOptions>) =>
    openSessions({
      issuer: 'Redbook',
      secret: SECRET,
      previousSecret: PREVIOUS,
      nowMs: () => nowSeconds * 1000,
      ...options,
    });
  const sessions = open();

  /** Returns the wallet, or the code of the refusal. */
  const read = (authorization: string | undefined, from = sessions): string => {
    try {
      return from.read(authorization);
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  };

  beforeEach(() => {
    nowSeconds = NOW;
  });

  it('are HS256 tokens with the four documented claims only', () => {
    const { header, payload } = jwt.decode(sessions.issue(WALLET), { complete: true })!;
    expect(header).to.deep.equal({ alg: 'HS256', typ: 'JWT' });
    expect(payload).to.deep.equal({ iss: 'Redbook', sub: WALLET, iat: NOW, exp: NOW + 8 * 60 * 60 });
  });

  it('expire after eight hours, cached or not', () => {
    const issued = sessions.issue(WALLET);
    nowSeconds = NOW + SESSION_SECONDS - 1;
    expect(read(`Bearer ${issued}`)).to.equal(WALLET);
    nowSeconds = NOW + SESSION_SECONDS;
    expect(read(`Bearer ${issued}`)).to.equal('UNAUTHORIZED');
    expect(read(`Bearer ${issued}`, open())).to.equal('UNAUTHORIZED');
  });

  it('are accepted by every replica that has the secret', () => {
    expect(read(`Bearer ${sessions.issue(WALLET)}`, open())).to.equal(WALLET);
  });

  it('of the previous secret are still accepted, but none is issued with it', () => {
    expect(read(`Bearer ${token(CLAIMS, undefined, PREVIOUS)}`)).to.equal(WALLET);
    expect(read(`Bearer ${sessions.issue(WALLET)}`, open({ previousSecret: undefined }))).to.equal(WALLET);
    const rotated = open({ secret: 'the next secret, which is long enough', previousSecret: SECRET });
    expect(read(`Bearer ${sessions.issue(WALLET)}`, rotated)).to.equal(WALLET);
    expect(read(`Bearer ${token(CLAIMS, undefined, PREVIOUS)}`, rotated)).to.equal('UNAUTHORIZED');
  });

  it('require a secret of 32 bytes', () => {
    expect(() => open({ secret: 'x'.repeat(31) })).to.throw('32 bytes');
    expect(() => open({ previousSecret: '' })).to.throw('32 bytes');
    expect(() => open({ secret: 'é'.repeat(16) })).not.to.throw();
  });

  it('are read from an Authorization header of the Bearer scheme', () => {
    const issued = sessions.issue(WALLET);
    expect(read(`bearer ${issued}`)).to.equal(WALLET);
    for (const header of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      issued,
      `Basic ${issued}`,
      `Bearer${issued}`,
      `Bearer ${issued} `,
      `Bearer ${issued}, Bearer ${issued}`,
      `Bearer "${issued}"`,
      ` Bearer ${issued}`,
      `Bearer ${issued}\n`,
    ]) {
      expect(read(header), String(header)).to.equal('UNAUTHORIZED');
    }
  });

  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const { exp: _exp, ...endless } = CLAIMS;
  const { iat: _iat, ...undated } = CLAIMS;
  const { sub: _sub, ...nobody } = CLAIMS;
  const { iss: _iss, ...anonymous } = CLAIMS;
  const refused: Record<string, string> = {
    'another secret': token(CLAIMS, undefined, 'some other secret, also long enough'),
    'no signature': `${token(CLAIMS).split('.').slice(0, 2).join('.')}.`,
    'alg none': token(CLAIMS, { alg: 'none', typ: 'JWT' }),
    'alg none without a signature': `${base64url({ alg: 'none' })}.${base64url(CLAIMS)}.`,
    'alg HS384': token(CLAIMS, { alg: 'HS384' }, SECRET, 'sha384'),
    'alg HS512': token(CLAIMS, { alg: 'HS512' }, SECRET, 'sha512'),
    'alg hs256': token(CLAIMS, { alg: 'hs256' }),
    'alg RS256': jwt.sign(CLAIMS, privateKey, { algorithm: 'RS256' }),
    'a public key as the secret': token(CLAIMS, undefined, pem),
    'no alg': token(CLAIMS, { typ: 'JWT' }),
    'critical parameters, none of which this service knows': token(CLAIMS, { alg: 'HS256', crit: ['b64'] }),
    'an empty list of critical parameters': token(CLAIMS, { alg: 'HS256', crit: [] }),
    'a list of algs': token(CLAIMS, { alg: ['HS256'] }),
    'a header that is no object': token(CLAIMS, 'null'),
    'a header that is no JSON': token(CLAIMS, '{'),
    'no exp': token(endless),
    'exp of null': token({ ...CLAIMS, exp: null }),
    'exp in words': token({ ...CLAIMS, exp: String(CLAIMS.exp) }),
    'exp passed': token({ ...CLAIMS, iat: NOW - 60, exp: NOW }),
    'exp later than eight hours after iat': token({ ...CLAIMS, exp: CLAIMS.exp + 1 }),
    'exp of 1e308': token({ ...CLAIMS, exp: 1e308 }),
    'no iat': token(undated),
    'iat in words': token({ ...CLAIMS, iat: String(NOW) }),
    'iat in the future': token({ ...CLAIMS, iat: NOW + 3_600, exp: NOW + 7_200 }),
    'nbf in the future': token({ ...CLAIMS, nbf: NOW + 60 }),
    'another issuer': token({ ...CLAIMS, iss: 'Bluebook' }),
    'a list of issuers': token({ ...CLAIMS, iss: ['Redbook'] }),
    'no issuer': token(anonymous),
    'no subject': token(nobody),
    'an empty subject': token({ ...CLAIMS, sub: '' }),
    'a subject that is no wallet': token({ ...CLAIMS, sub: 'admin' }),
    'a subject with more behind it': token({ ...CLAIMS, sub: `${WALLET}\n` }),
    'a subject in upper case': token({ ...CLAIMS, sub: `0x${'AB'.repeat(20)}` }),
    'a list of subjects': token({ ...CLAIMS, sub: [WALLET] }),
    'a payload that is text': token('text'),
    'a payload that is null': token('null'),
    'a payload that is a list': token([CLAIMS]),
    'one part': 'token',
    'two parts': token(CLAIMS).split('.').slice(0, 2).join('.'),
    'four parts': `${token(CLAIMS)}.x`,
    'five parts, as JWE has': 'a.b.c.d.e',
  };
  for (const [what, text] of Object.entries(refused)) {
    it(`reject ${what}`, () => expect(read(`Bearer ${text}`)).to.equal('UNAUTHORIZED'));
  }

  it('accept tokens of a replica whose clock is a minute ahead', () => {
    expect(read(`Bearer ${token({ ...CLAIMS, iat: NOW + 60, exp: NOW + 60 + SESSION_SECONDS })}`)).to.equal(
      WALLET,
    );
  });

  it('are cached by the whole token: sharing a part with a cached token does not verify another', () => {
    const other = `0x${'cd'.repeat(20)}`;
    const known = token(CLAIMS);
    expect(read(`Bearer ${known}`)).to.equal(WALLET);
    const [header, payload, signature = ''] = known.split('.');
    const last = signature.at(-1) === 'A' ? 'B' : 'A';
    for (const forged of [
      `${header}.${base64url({ ...CLAIMS, sub: other })}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -1)}${last}`,
      `${header}.${payload}.${signature}A`,
      `${header}.${payload}.${signature.slice(0, -1)}`,
      `${base64url({ alg: 'none' })}.${payload}.${signature}`,
      known.toLowerCase(),
    ]) {
      expect(read(`Bearer ${forged}`), forged).to.equal('UNAUTHORIZED');
    }
    expect(read(`Bearer ${known}`)).to.equal(WALLET);
  });

  it('are verified correctly when there are more tokens than the cache holds', () => {
    const wallet = (i: number) => `0x${i.toString(16).padStart(40, '0')}`;
    const issued = Array.from({ length: 10_050 }, (_, i) => sessions.issue(wallet(i)));
    for (let round = 0; round < 2; round++) {
      issued.forEach((text, i) => {
        if (read(`Bearer ${text}`) !== wallet(i)) expect.fail(`token ${i} in round ${round}`);
      });
    }
  });
});
