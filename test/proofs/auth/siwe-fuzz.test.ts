/**
 * Proves that random sign-in messages are refused or read as the siwe package reads them, and that a login fails in no
 * other way.
 */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { SiweMessage } from 'siwe';
import { type SiweMessage as Reading, readSiweMessage } from '../../../src/auth/siwe.ts';
import { Refusal } from '../../../src/domain/errors.ts';
import { type AuthFixture, openSignIn, outcome } from '../../auth/fixture.ts';
import { ethersSigner, siweText } from '../../auth/signers.ts';
import { type Random, random } from '../../support/seed.ts';

const PIECES = [
  '',
  ' ',
  '\n',
  '\n\n',
  '\r',
  '\t',
  ':',
  ': ',
  '- ',
  '//',
  '@',
  '#',
  '0',
  'a',
  'Z',
  '\u0000',
  'é',
  '\u2028',
  '\u{1f4d5}',
  '\ud800',
  'Nonce: ',
  'Nonce: 12345678',
  'URI: ',
  'Resources:',
  '\nResources:\n- a',
  'Expiration Time: ',
  'Not Before: ',
  'www.',
  'https://',
  ' wants you to sign in with your Ethereum account:',
  '2100-02-30T00:00:00Z',
  '2100-01-01T00:00:00.5+01:00',
];

const address = ethersSigner().address;

/** Returns a random valid message of the grammar. */
const validText = (dice: Random): string =>
  siweText({
    domain: dice.pick([
      'redbook.example',
      'https://redbook.example',
      'localhost:8080',
      '[::1]:80',
      'user@127.0.0.1',
    ]),
    address,
    statement: dice.pick([undefined, 'Sign in.', 'Nonce: 12345678', 'URI: https://evil.example']),
    uri: dice.pick(['https://redbook.example/login', 'urn:x']),
    version: '1',
    chainId: dice.below(1_000),
    nonce: dice.pick(['12345678', 'abcdefghijklmnop']),
    issuedAt: '2025-01-01T00:00:00Z',
    expirationTime: dice.pick([
      undefined,
      '2100-01-01T00:00:00Z',
      '2020-01-01T00:00:00.123456+02:00',
      '2100-02-31T00:00:00Z',
    ]),
    notBefore: dice.pick([undefined, '2025-01-01T00:00:00Z']),
    requestId: dice.pick([undefined, '', 'id']),
    resources: dice.pick([undefined, [], ['https://redbook.example/terms', 'urn:y']]),
  });

/** Inserts, removes and moves parts of a message. */
function mutate(text: string, dice: Random): string {
  const at = dice.below(text.length + 1);
  const lines = text.split('\n');
  const line = dice.below(lines.length);
  return dice.pick([
    () => text.slice(0, at) + dice.pick(PIECES) + text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1 + dice.below(12)),
    () => text.slice(0, at) + dice.pick(PIECES) + text.slice(at + 1),
    () => lines.toSpliced(line, 1).join('\n'),
    () => lines.toSpliced(line, 0, dice.pick(lines)).join('\n'),
    () => lines.toSpliced(line, 1, dice.pick(PIECES)).join('\n'),
    () => lines.slice(0, line).join('\n'),
  ])();
}

/** Returns the service's reading of a message, or the code of its refusal. Any other error fails the test. */
function read(text: string): Reading | string {
  try {
    return readSiweMessage(text);
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** Returns the reading of siwe's parser, or undefined. */
function reference(text: string): Reading | undefined {
  try {
    const { domain, address, nonce, expirationTime } = new SiweMessage(text);
    const expiresAtMs = expirationTime === undefined ? undefined : Date.parse(expirationTime);
    return { host: domain, address, nonce, expiresAtMs };
  } catch {
    return undefined;
  }
}

describe('malicious sign-in messages', () => {
  it('are rejected, or read as siwe reads them', () => {
    const seen = { same: 0, more: 0, refused: 0 };
    for (let seed = 1; seed <= 1_000; seed++) {
      const dice = random(seed);
      let text = validText(dice);
      for (let changes = dice.below(4); changes > 0; changes--) text = mutate(text, dice);
      const reading = read(text);
      const expected = reference(text);
      if (expected !== undefined && !isDeepStrictEqual(reading, expected))
        expect(reading, `seed ${seed}: ${text}`).to.deep.equal(expected);
      if (typeof reading === 'string') expect(reading).to.equal('malformed_message');
      seen[expected !== undefined ? 'same' : typeof reading === 'string' ? 'refused' : 'more']++;
    }
    expect(seen.same, 'read by both').to.be.above(100);
    expect(seen.more, 'read here only').to.be.above(20);
    expect(seen.refused, 'refused by both').to.be.above(100);
  });

  describe('with signatures', () => {
    let fixture: AuthFixture;
    before(async () => {
      fixture = await openSignIn();
    });
    after(() => fixture.close());

    it('end in a session or a documented refusal', async () => {
      const auth = fixture.open();
      const signer = ethersSigner();
      const codes = new Set<string>();
      for (let seed = 1; seed <= 250; seed++) {
        const dice = random(seed);
        const text = mutate(validText(dice).replace(address, signer.address), dice);
        const signature = await signer.signText(text.includes('\ud800') ? '' : text);
        const sent = dice.below(4) === 0 ? mutate(signature, dice) : signature;
        await fixture.plant(signer.address, '12345678');
        codes.add(await outcome(auth.verifySiwe(signer.address, text, sent)));
        codes.add(await outcome(auth.verify(signer.address, sent)));
      }
      expect([...codes].sort()).to.deep.equal([
        'BAD_REQUEST',
        'address_mismatch',
        'domain_mismatch',
        'malformed_message',
        'message_expired',
        'nonce_invalid',
        'nonce_missing',
        'session',
        'signature_mismatch',
      ]);
    });
  });
});
