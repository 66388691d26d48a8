import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { SiweMessage } from 'siwe';
import { type SiweMessage as Reading, readSiweMessage } from '../../src/auth/siwe.ts';
import { Refusal } from '../../src/domain/errors.ts';
import { type AuthFixture, openFixture, outcome } from './fixture.ts';
import { ethersSigner, siweText } from './signers.ts';

/** A small generator (mulberry32), so that a failure can be run again from its seed. */
function seeded(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, one: <T>(items: readonly T[]): T => items[below(items.length)]! };
}
type Random = ReturnType<typeof seeded>;

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

/** A message in one of the forms that the grammar allows. */
const validText = (random: Random): string =>
  siweText({
    domain: random.one([
      'redbook.example',
      'https://redbook.example',
      'localhost:8080',
      '[::1]:80',
      'user@127.0.0.1',
    ]),
    address,
    statement: random.one([undefined, 'Sign in.', 'Nonce: 12345678', 'URI: https://evil.example']),
    uri: random.one(['https://redbook.example/login', 'urn:x']),
    version: '1',
    chainId: random.below(1_000),
    nonce: random.one(['12345678', 'abcdefghijklmnop']),
    issuedAt: '2025-01-01T00:00:00Z',
    expirationTime: random.one([
      undefined,
      '2100-01-01T00:00:00Z',
      '2020-01-01T00:00:00.123456+02:00',
      '2100-02-31T00:00:00Z',
    ]),
    notBefore: random.one([undefined, '2025-01-01T00:00:00Z']),
    requestId: random.one([undefined, '', 'id']),
    resources: random.one([undefined, [], ['https://redbook.example/terms', 'urn:y']]),
  });

/** Puts pieces in, takes pieces out, moves lines about. */
function mutate(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const lines = text.split('\n');
  const line = random.below(lines.length);
  return random.one([
    () => text.slice(0, at) + random.one(PIECES) + text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1 + random.below(12)),
    () => text.slice(0, at) + random.one(PIECES) + text.slice(at + 1),
    () => lines.toSpliced(line, 1).join('\n'),
    () => lines.toSpliced(line, 0, random.one(lines)).join('\n'),
    () => lines.toSpliced(line, 1, random.one(PIECES)).join('\n'),
    () => lines.slice(0, line).join('\n'),
  ])();
}

/** What this service reads, or the code it refuses with; anything else is a failure. */
function read(text: string): Reading | string {
  try {
    return readSiweMessage(text);
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** What siwe's parser reads, or undefined. */
function reference(text: string): Reading | undefined {
  try {
    const { domain, address, nonce, expirationTime } = new SiweMessage(text);
    const expiresAtMs = expirationTime === undefined ? undefined : Date.parse(expirationTime);
    return { host: domain, address, nonce, expiresAtMs };
  } catch {
    return undefined;
  }
}

describe('messages made to confuse', () => {
  it('are refused, or read as siwe reads them where it reads them at all', function () {
    this.timeout(60_000);
    const seen = { same: 0, more: 0, refused: 0 };
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = seeded(seed);
      let text = validText(random);
      for (let changes = random.below(4); changes > 0; changes--) text = mutate(text, random);
      const reading = read(text);
      const expected = reference(text);
      if (expected !== undefined && !isDeepStrictEqual(reading, expected))
        expect(reading, `seed ${seed}: ${text}`).to.deep.equal(expected);
      if (typeof reading === 'string') expect(reading).to.equal('malformed_message');
      seen[expected !== undefined ? 'same' : typeof reading === 'string' ? 'refused' : 'more']++;
    }
    expect(seen.same, 'read by both').to.be.above(500);
    expect(seen.more, 'read here only').to.be.above(100);
    expect(seen.refused, 'refused by both').to.be.above(500);
  });

  describe('with signatures', () => {
    let fixture: AuthFixture;
    before(async () => {
      fixture = await openFixture();
    });
    after(() => fixture.close());

    it('end in a session or a refusal of the login, never in anything else', async function () {
      this.timeout(60_000);
      const auth = fixture.open();
      const signer = ethersSigner();
      const codes = new Set<string>();
      for (let seed = 1; seed <= 600; seed++) {
        const random = seeded(seed);
        const text = mutate(validText(random).replace(address, signer.address), random);
        const signature = await signer.signText(text.includes('\ud800') ? '' : text);
        const sent = random.below(4) === 0 ? mutate(signature, random) : signature;
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
