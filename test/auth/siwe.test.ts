/**
 * Proves that EIP-4361 sign-in checks each field of the message as the contract requires, and that a nonce gives one
 * session.
 */

import { expect } from 'chai';
import { CHALLENGE_LIFETIME_MS } from '../../src/auth/challenges.ts';
import type { Auth } from '../../src/auth/index.ts';
import { readSiweMessage } from '../../src/auth/siwe.ts';
import { type AuthFixture, openSignIn, outcome, refusalOf } from './fixture.ts';
import { withV, wrongForms } from './signature-forms.ts';
import { ethersSigner, loginText, SIGNERS, type Signer, type SiweFields } from './signers.ts';

const FUTURE = '2100-01-01T00:00:00Z';
const PAST = '2020-01-01T00:00:00Z';

describe('sign-in by EIP-4361', () => {
  let fixture: AuthFixture;
  let auth: Auth;
  let signer: Signer;

  before(async () => {
    fixture = await openSignIn();
    auth = fixture.open();
  });
  beforeEach(() => {
    signer = ethersSigner();
  });
  after(() => fixture.close());

  const send = async (text: string, address = signer.address) =>
    outcome(auth.verifySiwe(address, text, await signer.signText(text)));

  /** Signs in with a fresh nonce and some fields changed. */
  const login = async (fields: SiweFields) =>
    send(loginText({ address: signer.address, nonce: await auth.nonce(signer.address), ...fields }));

  /** Returns a nonce that was issued five minutes ago; its record is gone. */
  const expired = async (address: string): Promise<string> => {
    const past = fixture.open({ nowMs: () => Date.now() - CHALLENGE_LIFETIME_MS });
    const nonce = await past.nonce(address);
    await fixture.age('siwe', address, CHALLENGE_LIFETIME_MS);
    return nonce;
  };

  for (const [name, newSigner] of Object.entries(SIGNERS)) {
    it(`gives a session to a wallet that signs with ${name}`, async () => {
      signer = newSigner();
      const nonce = await auth.nonce(signer.address);
      expect(nonce).to.match(/^[0-9a-f]{32}$/);
      const text = loginText({ address: signer.address, nonce, expirationTime: FUTURE });
      const answer = await auth.verifySiwe(signer.address, text, await signer.signText(text));
      expect(answer).to.have.all.keys('sessionToken');
      expect(auth.session(`Bearer ${answer.sessionToken}`)).to.deep.equal({
        wallet: signer.address.toLowerCase(),
      });
    });
  }

  describe('signature', () => {
    it('must recover to the address over the exact text', async () => {
      const text = loginText({ address: signer.address, nonce: await auth.nonce(signer.address) });
      const signature = await signer.signText(text);
      const stranger = ethersSigner().address;
      expect(await outcome(auth.verifySiwe(stranger, text, signature))).to.equal('signature_mismatch');
      for (const altered of [
        `${text} `,
        text.replace('trade', 'Trade'),
        `${text}\n`,
        text.normalize('NFD').slice(1),
        '',
      ]) {
        expect(await outcome(auth.verifySiwe(signer.address, altered, signature))).to.equal(
          'signature_mismatch',
        );
      }
      expect(await outcome(auth.verifySiwe(signer.address, text, signature))).to.equal('session');
    });

    it('covers the exact bytes, including unusual ones', async () => {
      expect(await login({ statement: 'cafe\u0301 caf\u00e9 \u{1f4d5} \u2028 \u0000' })).to.equal('session');
    });

    it('cannot cover half a surrogate pair, which has no bytes', async () => {
      const text = loginText({ address: signer.address, statement: '\ud800' });
      const signature = await signer.signText('anything');
      expect(await outcome(auth.verifySiwe(signer.address, text, signature))).to.equal('signature_mismatch');
    });

    it('must have 65 bytes with v from 0 or 27; the refusal names the fault of any other form', async () => {
      const text = loginText({ address: signer.address, nonce: await auth.nonce(signer.address) });
      const signature = await signer.signText(text);
      for (const [form, reason] of wrongForms(signature)) {
        const { code, message } = await refusalOf(auth.verifySiwe(signer.address, text, form));
        expect(code, form).to.equal('signature_mismatch');
        expect(message, form).to.match(reason);
      }
      const zeros = `0x${'00'.repeat(65)}`;
      expect(await outcome(auth.verifySiwe(signer.address, text, zeros))).to.equal('signature_mismatch');
      const fromZero = withV(signature, signature.endsWith('1c') ? 1 : 0);
      expect(await outcome(auth.verifySiwe(signer.address, text, fromZero))).to.equal('session');
    });

    it('must not be one of EIP-712', async () => {
      const { typedData } = await auth.challenge(signer.address);
      const text = loginText({ address: signer.address, nonce: await auth.nonce(signer.address) });
      const signature = await signer.signTyped(typedData);
      expect(await outcome(auth.verifySiwe(signer.address, text, signature))).to.equal('signature_mismatch');
      expect(await outcome(auth.verify(signer.address, await signer.signText(text)))).to.equal('BAD_REQUEST');
    });
  });

  describe('host', () => {
    for (const domain of [
      'redbook.example',
      'www.redbook.example',
      'localhost:8080',
      'www.localhost:8080',
      'https://redbook.example',
      'https://www.redbook.example',
    ]) {
      it(`may be ${domain}`, async () => expect(await login({ domain })).to.equal('session'));
    }
    for (const domain of [
      'bluebook.example',
      'redbook.example.evil.example',
      'evil.redbook.example',
      'www.www.redbook.example',
      'redbook.example:443',
      'redbook.example.',
      'redbook.example/',
      'user@redbook.example',
      'localhost',
      'localhost:80800',
      'https://https://redbook.example',
      'Redbook.example',
      'redboo\u212a.example',
      'rеdbook.example', // a Cyrillic е
    ]) {
      it(`may not be ${domain}`, async () => expect(await login({ domain })).to.equal('domain_mismatch'));
    }
  });

  it('accepts the bare and the `www.` form of each host, and nothing in place of an IP address', async () => {
    const www = fixture.open({ webHosts: ['www.exchange.example', '192.0.2.7:8080'] });
    for (const [domain, expected] of [
      ['exchange.example', 'session'],
      ['www.exchange.example', 'session'],
      ['192.0.2.7:8080', 'session'],
      ['www.www.exchange.example', 'domain_mismatch'],
      ['www.192.0.2.7:8080', 'domain_mismatch'],
    ] as const) {
      const text = loginText({ address: signer.address, nonce: await www.nonce(signer.address), domain });
      const answer = www.verifySiwe(signer.address, text, await signer.signText(text));
      expect(await outcome(answer), domain).to.equal(expected);
    }
  });

  describe('address', () => {
    it('is compared in any case', async () => {
      expect(await login({ address: signer.address.toLowerCase() })).to.equal('session');
      expect(await login({ address: `0x${signer.address.slice(2).toUpperCase()}` })).to.equal('session');
    });

    it('of line 2 must be the one of the request', async () => {
      for (const address of [ethersSigner().address, '', 'me', ` ${signer.address}`, `${signer.address} `]) {
        expect(await login({ address }), address).to.equal('address_mismatch');
      }
    });
  });

  describe('nonce', () => {
    it('must have a line', async () => expect(await login({ nonce: undefined })).to.equal('nonce_missing'));

    it('must match the current one exactly', async () => {
      const nonce = await auth.nonce(signer.address);
      for (const wrong of [
        '',
        ' ',
        'nonsense',
        nonce.slice(1),
        `${nonce} `,
        ` ${nonce}`,
        nonce.toUpperCase(),
        'A'.repeat(32),
      ]) {
        const text = loginText({ address: signer.address, nonce: wrong });
        if (wrong !== nonce) expect(await send(text), wrong).to.equal('nonce_invalid');
      }
      expect(await send(loginText({ address: signer.address, nonce }))).to.equal('session');
    });

    it('of another wallet is invalid', async () => {
      const nonce = await auth.nonce(ethersSigner().address);
      expect(await login({ nonce })).to.equal('nonce_invalid');
    });

    it('is replaced by a newer one', async () => {
      const first = await auth.nonce(signer.address);
      const second = await auth.nonce(signer.address);
      expect(await send(loginText({ address: signer.address, nonce: first }))).to.equal('nonce_invalid');
      expect(await send(loginText({ address: signer.address, nonce: second }))).to.equal('session');
    });

    it('is invalid after use', async () => {
      const text = loginText({ address: signer.address, nonce: await auth.nonce(signer.address) });
      expect(await send(text)).to.equal('session');
      expect(await send(text)).to.equal('nonce_invalid');
    });

    it('expires after five minutes, not before, although nothing of it is kept', async () => {
      const nonce = await auth.nonce(signer.address);
      await fixture.age('siwe', signer.address, CHALLENGE_LIFETIME_MS - 5_000);
      expect(await send(loginText({ address: signer.address, nonce }))).to.equal('session');

      const old = await expired(signer.address);
      expect(await login({ nonce: old })).to.equal('nonce_expired');
      expect(await login({ nonce: old }), 'again').to.equal('nonce_expired');
      const changed = old.endsWith('0') ? '1' : '0';
      expect(await login({ nonce: `${old.slice(0, -1)}${changed}` }), 'another').to.equal('nonce_invalid');
      expect(await login({ nonce: await expired(ethersSigner().address) })).to.equal('nonce_invalid');
    });

    it('is not used up by a failed login', async () => {
      const nonce = await auth.nonce(signer.address);
      const good = loginText({ address: signer.address, nonce });
      const stranger = ethersSigner();
      expect(await outcome(auth.verifySiwe(signer.address, good, await stranger.signText(good)))).to.equal(
        'signature_mismatch',
      );
      expect(await send(`${good}\n`)).to.equal('malformed_message');
      expect(await send(loginText({ address: signer.address, nonce, domain: 'evil.example' }))).to.equal(
        'domain_mismatch',
      );
      expect(await send(loginText({ address: stranger.address, nonce }))).to.equal('address_mismatch');
      expect(await send(loginText({ address: signer.address }))).to.equal('nonce_missing');
      expect(await send(loginText({ address: signer.address, nonce: '1'.repeat(32) }))).to.equal(
        'nonce_invalid',
      );
      expect(await send(loginText({ address: signer.address, nonce, expirationTime: PAST }))).to.equal(
        'message_expired',
      );
      expect(await send(good)).to.equal('session');
    });

    it('of one flow is invalid in the other', async () => {
      const { typedData } = await auth.challenge(signer.address);
      const nonce = await auth.nonce(signer.address);
      const other = loginText({ address: signer.address, nonce: typedData.message.nonce });
      expect(await send(other)).to.equal('nonce_invalid');
      expect(await send(loginText({ address: signer.address, nonce }))).to.equal('session');
      expect(await outcome(auth.verify(signer.address, await signer.signTyped(typedData)))).to.equal(
        'session',
      );
    });

    it('gives one session to a hundred concurrent replays on two replicas', async () => {
      const replicas = [fixture.open(), fixture.open()];
      const text = loginText({ address: signer.address, nonce: await auth.nonce(signer.address) });
      const signature = await signer.signText(text);
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          outcome(replicas[i % 2]!.verifySiwe(signer.address, text, signature)),
        ),
      );
      expect(outcomes.filter((code) => code === 'session')).to.have.length(1);
      expect(outcomes.filter((code) => code === 'nonce_invalid')).to.have.length(99);
    });
  });

  describe('expiration time', () => {
    it('must be in the future', async () => {
      const nowMs = Date.UTC(2030, 0, 1);
      auth = fixture.open({ nowMs: () => nowMs });
      expect(await login({ expirationTime: '2029-12-31T23:59:59.999Z' })).to.equal('message_expired');
      expect(await login({ expirationTime: '2030-01-01T00:00:00Z' })).to.equal('message_expired');
      expect(await login({ expirationTime: '2030-01-01T00:00:00.001Z' })).to.equal('session');
      expect(await login({ expirationTime: '2030-01-01T01:00:00+02:00' })).to.equal('message_expired');
      expect(await login({ expirationTime: '2029-12-31T23:00:00-02:00' })).to.equal('session');
      auth = fixture.open();
    });

    for (const expirationTime of [
      '',
      'soon',
      '4102444800',
      '2100-01-01',
      '2100-01-01T00:00:00',
      '2100-01-01T00:00Z',
      '2100-01-01 00:00:00Z',
      '2100-02-29T00:00:00Z',
      '2100-02-31T00:00:00Z',
      '2100-04-31T00:00:00Z',
      '2100-13-01T00:00:00Z',
      '2100-01-01T24:00:00Z',
      '2100-01-01T23:60:00Z',
      '2100-01-01T23:59:61Z',
      '2100-01-01T00:00:00+2:00',
      '+002100-01-01T00:00:00Z',
      ' 2100-01-01T00:00:00Z',
      '2100-01-01T00:00:00Z ',
      'Fri, 01 Jan 2100 00:00:00 GMT',
    ]) {
      it(`cannot be read from "${expirationTime}"`, async () =>
        expect(await login({ expirationTime })).to.equal('malformed_message'));
    }

    it('has a point before its fraction, and no other character', () => {
      const readable = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter(
        (separator) => {
          const expirationTime = `2100-01-01T00:00:00${separator}123Z`;
          try {
            return (
              readSiweMessage(loginText({ address: signer.address, expirationTime })).expiresAtMs !==
              undefined
            );
          } catch {
            return false;
          }
        },
      );
      expect(readable).to.deep.equal(['.']);
    });
  });

  describe('layout', () => {
    const malformed: Record<string, (text: string) => string> = {
      'no message at all': () => 'hello',
      'an empty message': () => '',
      'CRLF between lines': (text) => text.replaceAll('\n', '\r\n'),
      'CR between lines': (text) => text.replaceAll('\n', '\r'),
      'a CR inside a line': (text) => text.replace('Sign in', 'Sign\rin'),
      'a trailing line break': (text) => `${text}\n`,
      'a leading line break': (text) => `\n${text}`,
      'another first line': (text) => text.replace('wants you to', 'would like you to'),
      'no colon on line 1': (text) => text.replace('account:', 'account'),
      'no host on line 1': (text) => text.replace('redbook.example', ''),
      'two hosts on line 1': (text) => text.replace('redbook.example', 'evil.example redbook.example'),
      'line 1 only': (text) => text.split('\n').slice(0, 1).join('\n'),
      'lines 1 and 2 only': (text) => text.split('\n').slice(0, 2).join('\n'),
      'no line 2': (text) => text.split('\n').toSpliced(1, 1).join('\n'),
      'no blank line 3': (text) => text.split('\n').toSpliced(2, 1).join('\n'),
      'no blank line after the statement': (text) => text.split('\n').toSpliced(4, 1).join('\n'),
      'a statement of two lines': (text) => text.replace('Sign in', 'Sign\nin'),
      'a line without a label': (text) => `${text}\nand so on`,
      'an unknown label': (text) => text.replace('Version: 1', 'Revision: 1'),
      'a label in lower case': (text) => text.replace('Nonce:', 'nonce:'),
      'an indented label': (text) => text.replace('Nonce:', ' Nonce:'),
      'two nonce lines': (text) => text.replace(/Nonce: .*/, '$&\n$&'),
      'two expiration times': (text) => `${text}\nExpiration Time: ${FUTURE}\nExpiration Time: ${FUTURE}`,
      'lines out of order': (text) => text.replace(/(Version: .*)\n(Chain ID: .*)/, '$2\n$1'),
      'a nonce after the resources': (text) => text.replace(/(Nonce: .*)\n(.*)/, '$2\nResources:\n$1'),
    };
    for (const [what, change] of Object.entries(malformed)) {
      it(`rejects ${what}`, async () => {
        const text = change(loginText({ address: signer.address, nonce: await auth.nonce(signer.address) }));
        expect(await send(text)).to.equal('malformed_message');
      });
    }

    it('accepts no other text as the nonce', async () => {
      const nonce = await auth.nonce(signer.address);
      const line = `Nonce: ${nonce}`;
      for (const fields of [
        { statement: line },
        { uri: line },
        { issuedAt: line },
        { requestId: line },
        { resources: [line] },
      ]) {
        expect(await send(loginText({ address: signer.address, nonce: 'other', ...fields }))).to.equal(
          'nonce_invalid',
        );
        expect(await send(loginText({ address: signer.address, ...fields }))).to.equal('nonce_missing');
      }
    });

    it('ignores fields that the contract does not check', async () => {
      for (const fields of [
        { uri: 'not a uri' },
        { uri: '' },
        { uri: undefined },
        { version: '7' },
        { version: undefined },
        { chainId: 'mainnet' },
        { chainId: undefined },
        { issuedAt: 'yesterday' },
        { issuedAt: undefined },
        { issuedAt: '2999-01-01T00:00:00Z' },
        { statement: undefined },
        { statement: '' },
        { notBefore: '2999-01-01T00:00:00Z' },
        { notBefore: 'never' },
        { requestId: '' },
        { resources: [] },
        { resources: ['not a uri', ''] },
        { uri: undefined, version: undefined, chainId: undefined, issuedAt: undefined, statement: undefined },
      ]) {
        expect(await login(fields), JSON.stringify(fields)).to.equal('session');
      }
    });
  });

  it('names the first check that fails', async () => {
    const stranger = ethersSigner();
    const nonce = await expired(signer.address);
    const everything = { domain: 'evil.example', address: stranger.address, expirationTime: PAST };
    const line = (fields: SiweFields) => loginText({ ...everything, ...fields });
    const hostile = line({});

    expect(
      await outcome(auth.verifySiwe(signer.address, `${hostile}\n`, await stranger.signText(hostile))),
    ).to.equal('signature_mismatch');
    expect(await send(`${hostile}\n`)).to.equal('malformed_message');
    expect(await send(line({ expirationTime: 'soon' }))).to.equal('malformed_message');
    expect(await send(hostile)).to.equal('domain_mismatch');
    const ours = { domain: 'redbook.example' };
    expect(await send(line(ours))).to.equal('address_mismatch');
    const mine = { ...ours, address: signer.address };
    expect(await send(line(mine))).to.equal('nonce_missing');
    expect(await send(line({ ...mine, nonce: 'other' }))).to.equal('nonce_invalid');
    expect(await send(line({ ...mine, nonce }))).to.equal('nonce_expired');
    const current = await auth.nonce(signer.address);
    expect(await send(line({ ...mine, nonce: current }))).to.equal('message_expired');
    expect(await send(line({ ...mine, nonce: current, expirationTime: FUTURE }))).to.equal('session');
  });
});
