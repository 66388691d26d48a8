/** Runs the test vectors of the EIP-4361 reference implementation against sign-in. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { readSiweMessage } from '../../src/auth/siwe.ts';
import { type AuthFixture, openSignIn, outcome } from './fixture.ts';
import { ethersSigner, type SiweFields, siweText } from './signers.ts';

/** Reads a file of `test/vectors/siwe`: cases by name. */
const vectors = <T>(file: string): Record<string, T> =>
  JSON.parse(readFileSync(new URL(`../vectors/siwe/${file}.json`, import.meta.url), 'utf8'));

interface Verification extends SiweFields {
  readonly domain: string;
  readonly address: string;
  readonly nonce: string;
  readonly signature: string;
  readonly time?: string;
  readonly domainBinding?: string;
  readonly matchNonce?: string;
}

/**
 * Outcomes of the vectors that are invalid logins in the reference implementation. Those with the outcome `session`
 * differ on purpose: the contract checks five fields and ignores these.
 */
const VERIFICATION_NEGATIVE = {
  'expired message': 'message_expired',
  'domain binding': 'domain_mismatch',
  'custom time': 'message_expired',
  'custom nonce': 'nonce_invalid',
  'malformed signature': 'signature_mismatch',
  'wrong signature': 'signature_mismatch',
  'not yet valid': 'session', // Not Before is ignored
  'invalid issuedAt': 'signature_mismatch', // Issued At is not checked, but the signature is of another text
  'invalid notBefore': 'session', // Not Before is ignored
  'invalid expirationTime': 'malformed_message',
};

/** Outcomes of the vectors that the reference cannot parse. The default is `malformed_message`. */
const PARSING_NEGATIVE: Record<string, string> = {
  // refused by a check after parsing
  'missing address': 'address_mismatch',
  'missing nonce': 'nonce_missing',
  'domain not RFC4501 authority': 'domain_mismatch',
  'out of order chainId': 'nonce_invalid', // the chain id stands on the nonce's line
  // ignored by the contract
  'missing uri': 'session',
  'missing version': 'session',
  'missing chainId': 'session',
  'missing issuedAt': 'session',
  'address not EIP-55': 'session',
  'uri is non-RFC 3986': 'session',
  'version not 1': 'session',
  'not a valid chainId': 'session',
  'nonce with less then 8 chars': 'session', // a nonce is compared, not measured; none this short is issued
  'non-ISO 8601 issuedAt': 'session',
  'non-ISO 8601 notBefore': 'session',
  'resources not separated by line break': 'session',
  'first resource not-RFC 3986': 'session',
  'second resource is not-RFC3986': 'session',
};

const VECTOR_ADDRESS = /0xe5a12547fe4e872d192e3ececb76f2ce1aea4946/i;

describe('EIP-4361 vectors of the reference implementation', () => {
  let fixture: AuthFixture;

  before(async () => {
    fixture = await openSignIn();
  });
  after(() => fixture.close());

  /** Signs in with the vector's host, nonce, time, signature and text. */
  async function verify(vector: Verification): Promise<string> {
    const { time } = vector;
    const auth = fixture.open({
      webHosts: [vector.domainBinding ?? vector.domain],
      ...(time !== undefined && { nowMs: () => Date.parse(time) }),
    });
    await fixture.plant(vector.address, vector.matchNonce ?? vector.nonce);
    return outcome(auth.verifySiwe(vector.address, siweText(vector), vector.signature));
  }

  /** Replaces the vector's wallet, whose key is unknown, with a new wallet and signs the text with it. */
  async function verifyText(text: string): Promise<string> {
    const signer = ethersSigner();
    const own = text.replace(VECTOR_ADDRESS, (found) =>
      found === found.toLowerCase() ? signer.address.toLowerCase() : signer.address,
    );
    const auth = fixture.open({ webHosts: ['service.org'], nowMs: () => Date.parse('2022-06-01T00:00:00Z') });
    await fixture.plant(signer.address, /^Nonce: (1234567)$/m.exec(text)?.[1] ?? '12341234');
    return outcome(auth.verifySiwe(signer.address, own, await signer.signText(own)));
  }

  describe('verification_positive', () => {
    for (const [name, vector] of Object.entries(vectors<Verification>('verification_positive'))) {
      it(name, async () => expect(await verify(vector)).to.equal('session'));
    }
  });

  it('verification_negative', async () => {
    const outcomes: Record<string, string> = {};
    for (const [name, vector] of Object.entries(vectors<Verification>('verification_negative'))) {
      outcomes[name] = await verify(vector);
    }
    expect(outcomes).to.deep.equal(VERIFICATION_NEGATIVE);
  });

  describe('parsing_positive', () => {
    const cases = vectors<{ message: string; fields: SiweFields }>('parsing_positive');
    for (const [name, { message, fields }] of Object.entries(cases)) {
      it(name, () =>
        expect(readSiweMessage(message)).to.deep.equal({
          host: fields.domain,
          address: fields.address,
          nonce: fields.nonce,
          expiresAtMs: fields.expirationTime === undefined ? undefined : Date.parse(fields.expirationTime),
        }),
      );
    }
  });

  const expectNegative = async (texts: [string, string][]) => {
    const outcomes: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const [name, text] of texts) {
      outcomes[name] = await verifyText(text);
      expected[name] = PARSING_NEGATIVE[name] ?? 'malformed_message';
    }
    expect(outcomes).to.deep.equal(expected);
  };

  it('parsing_negative', async () => {
    const texts = vectors<string>('parsing_negative');
    expect(texts).to.include.keys(Object.keys(PARSING_NEGATIVE));
    await expectNegative(Object.entries(texts));
  });

  it('parsing_negative_objects, written out as messages', async () => {
    const objects = Object.entries(vectors<SiweFields>('parsing_negative_objects'));
    await expectNegative(objects.map(([name, fields]) => [name, siweText(fields)]));
  });

  it('eip1271: signatures of contract wallets are not supported', async () => {
    const cases = vectors<{ message: string; signature: string }>('eip1271');
    expect(cases).to.have.all.keys('argent', 'loopring');
    for (const [name, { message, signature }] of Object.entries(cases)) {
      const { host, address, nonce } = readSiweMessage(message);
      const auth = fixture.open({ webHosts: [host] });
      await fixture.plant(address, nonce!);
      expect(await outcome(auth.verifySiwe(address, message, signature)), name).to.equal(
        'signature_mismatch',
      );
    }
  });
});
