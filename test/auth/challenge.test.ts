import { expect } from 'chai';
import { Redis } from 'ioredis';
import { CHALLENGE_LIFETIME_MS } from '../../src/auth/challenges.ts';
import type { Auth, LoginMessage, LoginTypedData } from '../../src/auth/index.ts';
import { type AuthFixture, openFixture, outcome } from './fixture.ts';
import { highS, withV } from './signature-forms.ts';
import { ethersSigner, SIGNERS } from './signers.ts';

describe('sign-in by EIP-712', () => {
  let fixture: AuthFixture;
  let auth: Auth;

  before(async () => {
    fixture = await openFixture();
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

  it('takes an address in any case, its checksum right or wrong', async () => {
    const signer = ethersSigner();
    const upper = `0x${signer.address.slice(2).toUpperCase()}`;
    const { typedData } = await auth.challenge(upper);
    const signature = await signer.signTyped(typedData);
    expect(await outcome(auth.verify(signer.address.toLowerCase(), signature))).to.equal('session');
  });

  it('refuses what is no address', async () => {
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

  it('refuses a replay, a replaced challenge, and one that was never issued', async () => {
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

  it('refuses a challenge from its five minutes on, not before', async () => {
    const signer = ethersSigner();
    const { typedData } = await auth.challenge(signer.address);
    const signature = await signer.signTyped(typedData);
    await fixture.age('eip712', signer.address, CHALLENGE_LIFETIME_MS);
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('BAD_REQUEST');
    await fixture.age('eip712', signer.address, CHALLENGE_LIFETIME_MS - 5_000);
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('session');
  });

  it('goes by the clock of Redis, whatever a replica takes the time for', async () => {
    const signer = ethersSigner();
    const slow = fixture.open({ nowMs: () => Date.now() - 24 * 60 * 60_000 });
    const { typedData } = await slow.challenge(signer.address);
    expect(await outcome(auth.verify(signer.address, await signer.signTyped(typedData)))).to.equal('session');
  });

  it('refuses another address, and burns neither challenge', async () => {
    const [signer, other] = [ethersSigner(), ethersSigner()];
    const { typedData } = await auth.challenge(signer.address);
    await auth.challenge(other.address);
    const signature = await signer.signTyped(typedData);
    expect(await outcome(auth.verify(other.address, signature))).to.equal('BAD_REQUEST');
    expect(await outcome(auth.verify(signer.address, signature))).to.equal('session');
  });

  it('refuses any altered part of the typed data, and burns nothing', async () => {
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

  it('takes a signature in its one form of 65 bytes, v counted from 0 or 27', async () => {
    const signer = ethersSigner();
    const { typedData } = await auth.challenge(signer.address);
    const signature = await signer.signTyped(typedData);
    for (const [form, text] of Object.entries({
      'no 0x': signature.slice(2),
      '64 bytes': signature.slice(0, -2),
      '66 bytes': `${signature}00`,
      'v of EIP-155': withV(signature, 35 + (signature.endsWith('1c') ? 1 : 0)),
      'v of 2': withV(signature, 2),
      'high s': highS(signature),
      zeros: `0x${'00'.repeat(65)}`,
      ones: `0x${'ff'.repeat(64)}1b`,
      empty: '',
    })) {
      expect(await outcome(auth.verify(signer.address, text)), form).to.equal('BAD_REQUEST');
    }
    const fromZero = withV(signature, signature.endsWith('1c') ? 1 : 0);
    expect(await outcome(auth.verify(signer.address, fromZero))).to.equal('session');
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

  it('answers SERVICE_UNAVAILABLE while Redis is away', async () => {
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
