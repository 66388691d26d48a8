/** Proves that an EIP-712 challenge is issued, expires, and gives one session to the wallet that signed it. */

import { expect } from 'chai';
import { concat, hexlify, keccak256, randomBytes, toUtf8Bytes, Wallet, zeroPadValue } from 'ethers';
import { Redis } from 'ioredis';
import { privateKeyToAccount } from 'viem/accounts';
import { CHALLENGE_LIFETIME_MS } from '../../src/auth/challenges.ts';
import type { Auth, LoginMessage, LoginTypedData } from '../../src/auth/index.ts';
import { type AuthFixture, openSignIn, outcome, refusalOf } from './fixture.ts';
import { withV, wrongForms } from './signature-forms.ts';
import { ethersSigner, SIGNERS } from './signers.ts';

describe('sign-in by EIP-712', () => {
  let fixture: AuthFixture;
  let auth: Auth;

  before(async () => {
    fixture = await openSignIn();
    auth = fixture.open();
  });
  after(() => fixture.close());

  for (const [name, newSigner] of Object.entries(SIGNERS)) {
    it(`gives a session to a wallet that signs with ${name}`, async () => {
      const signer = newSigner();
      const { typedData } = await auth.challenge(signer.address);
      const answer = await auth.verify(signer.address, await signer.signTyped(typedData));
      expect(answer).to.have.all.keys('verified', 'token');
      expect(answer.verified).to.equal(true);
      expect(auth.session(`Bearer ${answer.token}`)).to.deep.equal({ wallet: signer.address.toLowerCase() });
    });
  }

  it('issues the documented challenge', async () => {
    const nowMs = Date.UTC(2030, 0, 2, 3, 4, 5, 6);
    const challenge = await fixture.open({ nowMs: () => nowMs }).challenge(`0x${'Ab'.repeat(20)}`);
    expect(challenge.typedData.message.nonce).to.match(/^[0-9a-f]{32}$/);
    expect(challenge).to.deep.equal({
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
          address: `0x${'ab'.repeat(20)}`,
          nonce: challenge.typedData.message.nonce,
          issuedAt: '2030-01-02T03:04:05.006Z',
        },
      },
      expiresIn: '5m',
    });
  });

  it('accepts an address in any case, with a right or wrong checksum', async () => {
    const signer = ethersSigner();
    const upper = `0x${signer.address.slice(2).toUpperCase()}`;
    const { typedData } = await auth.challenge(upper);
    const signature = await signer.signTyped(typedData);
    expect(await outcome(auth.verify(signer.address.toLowerCase(), signature))).to.equal('session');
  });

  it('rejects an invalid address', async () => {
    const wrong = [
      '',
      '0x',
      '0x12',
      'ab'.repeat(20),
      `0X${'ab'.repeat(20)}`,
      `0x${'ab'.repeat(20)}\n`,
      `0x${'g'.repeat(40)}`,
    ];
    for (const address of wrong) {
      expect(await outcome(auth.challenge(address)), address).to.equal('VALIDATION_ERROR');
      expect(await outcome(auth.verify(address, '0x')), address).to.equal('VALIDATION_ERROR');
      expect(await outcome(auth.nonce(address)), address).to.equal('VALIDATION_ERROR');
      expect(await outcome(auth.verifySiwe(address, '', '0x')), address).to.equal('VALIDATION_ERROR');
    }
  });

  it('rejects a replayed, a replaced and a never issued challenge', async () => {
    const signer = ethersSigner();
    expect(await outcome(auth.verify(signer.address, `0x${'11'.repeat(64)}1b`))).to.equal('BAD_REQUEST');

    const first = await auth.challenge(signer.address);
    const second = await auth.challenge(signer.address);
    const replaced = await signer.signTyped(first.typedData);
    expect(await outcome(auth.verify(signer.address, replaced))).to.equal('BAD_REQUEST');

    const signature = await signer.signTyped(second.typedData);
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('session');
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('BAD_REQUEST');
  });

  it('rejects a challenge after five minutes, not before', async () => {
    const signer = ethersSigner();
    const { typedData } = await auth.challenge(signer.address);
    const signature = await signer.signTyped(typedData);
    await fixture.age('eip712', signer.address, CHALLENGE_LIFETIME_MS - 5_000);
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('session');
    const later = await signer.signTyped((await auth.challenge(signer.address)).typedData);
    await fixture.age('eip712', signer.address, CHALLENGE_LIFETIME_MS);
    expect(await outcome(auth.verify(signer.address, later))).to.equal('BAD_REQUEST');
  });

  it('uses the clock of Redis, not the replica’s', async () => {
    const signer = ethersSigner();
    const slow = fixture.open({ nowMs: () => Date.now() - 24 * 60 * 60_000 });
    const { typedData } = await slow.challenge(signer.address);
    expect(await outcome(auth.verify(signer.address, await signer.signTyped(typedData)))).to.equal('session');
  });

  it('rejects another address without using up either challenge', async () => {
    const signer = ethersSigner();
    const other = ethersSigner();
    const { typedData } = await auth.challenge(signer.address);
    await auth.challenge(other.address);
    const signature = await signer.signTyped(typedData);
    expect(await outcome(auth.verify(other.address, signature))).to.equal('BAD_REQUEST');
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('session');
  });

  it('rejects any altered part of the typed data without using up the challenge', async () => {
    const signer = ethersSigner();
    const { typedData } = await auth.challenge(signer.address);
    const message = (change: Partial<LoginMessage>) => ({
      ...typedData,
      message: { ...typedData.message, ...change },
    });
    const altered: Record<string, LoginTypedData> = {
      address: message({ address: `0x${'11'.repeat(20)}` }),
      nonce: message({ nonce: '0'.repeat(32) }),
      issuedAt: message({ issuedAt: '2030-01-01T00:00:00.000Z' }),
      'domain name': { ...typedData, domain: { name: 'Bluebook', version: '1' } },
      'domain version': { ...typedData, domain: { name: 'Redbook', version: '2' as '1' } },
      'chain id': {
        ...typedData,
        domain: { name: 'Redbook', version: '1', chainId: 1 } as LoginTypedData['domain'],
      },
      type: {
        ...typedData,
        types: { Login: typedData.types.Login.map((entry) => ({ ...entry, type: 'string' })) },
      },
      'order of the types': { ...typedData, types: { Login: [...typedData.types.Login].reverse() } },
    };
    for (const [part, data] of Object.entries(altered)) {
      const signature = await signer.signTyped(data);
      expect(await outcome(auth.verify(signer.address, signature)), part).to.equal('BAD_REQUEST');
    }
    expect(await outcome(auth.verify(signer.address, await signer.signTyped(typedData)))).to.equal('session');
  });

  it('accepts only signatures of 65 bytes with v from 0 or 27, and names the fault of any other form', async () => {
    const signer = ethersSigner();
    const { typedData } = await auth.challenge(signer.address);
    const signature = await signer.signTyped(typedData);
    for (const [form, reason] of wrongForms(signature)) {
      const { code, message } = await refusalOf(auth.verify(signer.address, form));
      expect(code, form).to.equal('BAD_REQUEST');
      expect(message, form).to.match(reason);
    }
    expect(await outcome(auth.verify(signer.address, `0x${'00'.repeat(65)}`))).to.equal('BAD_REQUEST');
    const fromZero = withV(signature, signature.endsWith('1c') ? 1 : 0);
    expect(await outcome(auth.verify(signer.address, fromZero))).to.equal('session');
  });

  describe('by a wallet that is called directly', () => {
    const DOMAIN_TYPE = [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
    ];
    /** Hash that MetaMask and eth-sig-util sign if the payload declares no domain type: a domain without fields. */
    const emptyDomainDigest = ({ message }: LoginTypedData): string => {
      const typeOf = (text: string): string => keccak256(toUtf8Bytes(text));
      const login = typeOf('Login(address address,string nonce,string issuedAt)');
      const address = zeroPadValue(message.address, 32);
      const words = [login, address, typeOf(message.nonce), typeOf(message.issuedAt)];
      const domainHash = keccak256(typeOf('EIP712Domain()'));
      return keccak256(concat(['0x1901', domainHash, keccak256(concat(words))]));
    };

    it('names the missing type if the domain was signed without fields, without using up the challenge', async () => {
      const wallet = Wallet.createRandom();
      const { typedData } = await auth.challenge(wallet.address);
      const signature = wallet.signingKey.sign(emptyDomainDigest(typedData)).serialized;
      const { code, message } = await refusalOf(auth.verify(wallet.address, signature));
      expect(code).to.equal('BAD_REQUEST');
      const added = /types\.EIP712Domain = (\[.*?\]) in the payload/.exec(message)?.[1] ?? '';
      const asJson = added.replaceAll(/(\w+):/g, '"$1":').replaceAll("'", '"');
      expect(JSON.parse(asJson)).to.deep.equal(DOMAIN_TYPE);
      const right = await wallet.signTypedData(
        typedData.domain,
        { Login: [...typedData.types.Login] },
        typedData.message,
      );
      expect(await outcome(auth.verify(wallet.address, right))).to.equal('session');
    });

    for (const [name, types] of Object.entries({
      'gives a session for the payload that the reference shows': { EIP712Domain: DOMAIN_TYPE },
      'gives none for a domain type without fields': { EIP712Domain: [] },
    }))
      it(name, async () => {
        const account = privateKeyToAccount(hexlify(randomBytes(32)) as `0x${string}`);
        const { typedData } = await auth.challenge(account.address);
        const { domain, primaryType, message } = typedData;
        const payload = { domain, primaryType, message: { ...message } };
        const signature = await account.signTypedData({
          ...payload,
          types: { ...types, ...typedData.types },
        });
        const login = auth.verify(account.address, signature);
        if (types.EIP712Domain.length > 0) expect(await outcome(login)).to.equal('session');
        else expect((await refusalOf(login)).message).to.match(/empty EIP712Domain/);
      });

    it('reveals the domain fault only to the holder of the address’s key', async () => {
      const owner = Wallet.createRandom();
      const stranger = Wallet.createRandom();
      const { typedData } = await auth.challenge(owner.address);
      const foreign = stranger.signingKey.sign(emptyDomainDigest(typedData)).serialized;
      const never = Wallet.createRandom().address;
      const messages = await Promise.all(
        [owner.address, never].map(
          async (address) => (await refusalOf(auth.verify(address, foreign))).message,
        ),
      );
      expect(messages[0]).to.match(/does not answer the current challenge/);
      expect(messages[1], 'an address without a challenge').to.equal(messages[0]);
    });
  });

  it('rejects a signature of the placeholder for a missing record', async () => {
    const signer = ethersSigner();
    const address = signer.address.toLowerCase();
    const { typedData } = await auth.challenge(ethersSigner().address);
    const message = { address, nonce: '0'.repeat(32), issuedAt: '1970-01-01T00:00:00.000Z' };
    const signature = await signer.signTyped({ ...typedData, message });
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('BAD_REQUEST');
  });

  it('gives one session to a hundred concurrent replays on two replicas', async () => {
    const signer = ethersSigner();
    const replicas = [fixture.open(), fixture.open()];
    const { typedData } = await auth.challenge(signer.address);
    const signature = await signer.signTyped(typedData);
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, i) => outcome(replicas[i % 2]!.verify(signer.address, signature))),
    );
    expect(outcomes.filter((code) => code === 'session')).to.have.length(1);
    expect(outcomes.filter((code) => code === 'BAD_REQUEST')).to.have.length(99);
  });

  it('answers SERVICE_UNAVAILABLE while Redis is down', async () => {
    const redis = new Redis({
      port: 1,
      lazyConnect: true,
      enableOfflineQueue: false,
      retryStrategy: () => null,
    });
    redis.on('error', () => {});
    const away = fixture.open({ redis });
    const { address } = ethersSigner();
    expect(await outcome(away.challenge(address))).to.equal('SERVICE_UNAVAILABLE');
    expect(await outcome(away.verify(address, '0x'))).to.equal('SERVICE_UNAVAILABLE');
    expect(await outcome(away.nonce(address))).to.equal('SERVICE_UNAVAILABLE');
    redis.disconnect();
  });
});
