/** Tests what a signer is asked to sign, against services that ask for something else. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { TypedDataEncoder } from 'ethers';
import {
  type LoginTypedData,
  openConnection,
  renew,
  restoreSession,
  signIn,
  signInWithMessage,
  walletTypedData,
} from '../../src/client/index.ts';
import { ethersSigner, viemSigner } from '../auth/signers.ts';
import { errorOf } from './fixture.ts';
import { ADDRESS, challengeAt, type Scripted, signer, stage, tokenAt } from './scripted-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** An EIP-2612 permit over all USDC of a wallet on mainnet. */
const PERMIT = {
  domain: {
    name: 'USD Coin',
    version: '2',
    chainId: 1,
    verifyingContract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  },
  types: {
    Permit: [
      { name: 'owner', type: 'address' },
      { name: 'spender', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  },
  primaryType: 'Permit',
  message: { owner: ADDRESS, spender: ADDRESS, value: '9'.repeat(77), nonce: '0', deadline: '9'.repeat(12) },
};

/** Returns a value with one member set, at a path like `domain.name`; undefined removes it. */
function altered(value: object, path: string, member: unknown): object {
  const copy = structuredClone(value);
  const names = path.split('.');
  const last = names.pop()!;
  const parent = names.reduce<object>((one, name) => (one as Record<string, object>)[name]!, copy);
  if (member === undefined) delete (parent as Record<string, unknown>)[last];
  else Object.defineProperty(parent, last, { value: member, enumerable: true });
  return copy;
}

/** Changes of a challenge, each of which makes it another one than a login of now for this wallet. */
const changes = (nowMs: number): readonly (readonly [path: string, member: unknown])[] => [
  ...['domain', 'types', 'primaryType', 'message', 'domain.name', 'domain.version', 'types.Login'].flatMap(
    (path) => [undefined, null, true, 'x\ny', [], {}].map((member) => [path, member] as const),
  ),
  ...['message.address', 'message.nonce', 'message.issuedAt', 'types.Login.0', 'types.Login.2.type'].flatMap(
    (path) => [undefined, null, true, 'x', [], {}].map((member) => [path, member] as const),
  ),
  ['domain', PERMIT.domain],
  ['types', PERMIT.types],
  ['message', PERMIT.message],
  ['domain.chainId', 1],
  ['domain.verifyingContract', PERMIT.domain.verifyingContract],
  ['domain.salt', `0x${'00'.repeat(32)}`],
  ['domain.__proto__', { chainId: 1 }],
  ['domain.name', 'x'.repeat(65)],
  ['domain.name', 'Red\u202ebook'],
  ['types.EIP712Domain', [{ name: 'chainId', type: 'uint256' }]],
  ['types.Permit', PERMIT.types.Permit],
  ['types.Login.3', { name: 'spender', type: 'address' }],
  ['types.Login.1.name', 'value'],
  ['types.Login.1.type', 'uint256'],
  ['message.value', '1'],
  ['message.address', `0x${'b2'.repeat(20)}`],
  ['message.nonce', 'f'.repeat(31)],
  ['message.nonce', 'f'.repeat(33)],
  ['message.nonce', `${'f'.repeat(32)}\n`],
  ['message.nonce', 'g'.repeat(32)],
  ['message.issuedAt', new Date(nowMs - 6 * MINUTE_MS).toISOString()],
  ['message.issuedAt', new Date(nowMs + 6 * MINUTE_MS).toISOString()],
  ['message.issuedAt', new Date(nowMs).toUTCString()],
  ['message.issuedAt', `${new Date(nowMs).toISOString()}\nURI: https://phishing.example`],
  ['extra', 1],
];

describe('signing in', () => {
  /** A service that gives this challenge, or nonce, and any wallet a token. */
  function asking(
    challenge: (nowMs: number) => object | string,
    headers: (nowMs: number) => Record<string, string> = () => ({}),
    options: { readonly serviceName?: string } = {},
  ) {
    const asked: unknown[] = [];
    const staged = stage((route, _number, clock): Scripted => {
      if (route.endsWith('/verify')) {
        const token = tokenAt(clock);
        return { body: { verified: true, token, sessionToken: token } };
      }
      const now = clock.now();
      return { body: challenge(now), headers: headers(now) };
    }, options);
    return { ...staged, asked, signer: signer(false, (one) => asked.push(one)) };
  }

  it('signs a login that the client has built, whatever the address looks like', async () => {
    const service = asking((nowMs) => challengeAt(nowMs));
    const mixed = { ...service.signer, address: ADDRESS.toUpperCase().replace('0X', '0x') };
    await service.clock.until(signIn(service.connection, mixed));
    expect(service.asked).to.deep.equal([challengeAt(service.startMs).typedData]);
  });

  it('shows no other challenge to a signer', async () => {
    const honest = challengeAt(0);
    const hostile: [string, (nowMs: number) => object | string][] = [
      ['a permit', () => ({ typedData: PERMIT, expiresIn: '5m' })],
      ['no typed data', () => ({ expiresIn: '5m' })],
      ['typed data that is null', () => ({ ...honest, typedData: null })],
      ['a text', () => JSON.stringify(JSON.stringify(honest.typedData))],
      ...changes(0).map(([path], index): [string, (nowMs: number) => object] => [
        `${path}, change ${index}`,
        (nowMs) => ({
          ...challengeAt(nowMs),
          typedData: altered(challengeAt(nowMs).typedData, path, changes(nowMs)[index]![1]),
        }),
      ]),
    ];
    for (const [name, challenge] of hostile) {
      const { clock, connection, asked, signer, seen } = asking(challenge);
      const error = await clock.until(signIn(connection, signer)).catch((thrown) => thrown);
      expect([error.code, asked, seen.length], name).to.deep.equal(['UNREADABLE_ANSWER', [], 1]);
    }
    const renewed = asking(() => ({ typedData: PERMIT, expiresIn: '5m' }));
    const session = restoreSession(renewed.connection, tokenAt(renewed.clock), renewed.signer);
    expect((await renewed.clock.until(errorOf(renew(session)))).code).to.equal('UNREADABLE_ANSWER');
    expect(renewed.asked).to.deep.equal([]);
  });

  it('rejects a challenge of another service than the connection names', async () => {
    const signs = async (serviceName: string): Promise<number> => {
      const { clock, connection, asked, signer } = asking(challengeAt, undefined, { serviceName });
      await clock.until(signIn(connection, signer).catch(() => undefined));
      return asked.length;
    };
    expect([await signs('Redbook'), await signs('Bluebook'), await signs('')]).to.deep.equal([1, 0, 0]);
  });

  it('corrects a clock that is wrong by up to a day with the Date of the answer', async () => {
    const signs = async (issuedMs: number, dateMs: number | null): Promise<boolean> => {
      const { clock, connection, asked, signer } = asking(
        (nowMs) => challengeAt(nowMs + issuedMs),
        (nowMs) => (dateMs === null ? {} : { Date: new Date(nowMs + dateMs).toUTCString() }),
      );
      await clock.until(signIn(connection, signer).catch(() => undefined));
      return asked.length === 1;
    };
    for (const hours of [-23, -9, -1, 1, 9, 23]) {
      expect(await signs(hours * HOUR_MS, hours * HOUR_MS), `${hours} hours`).to.equal(true);
      expect(await signs(hours * HOUR_MS, null), `${hours} hours without a Date`).to.equal(false);
      expect(await signs(hours * HOUR_MS, 0), `a challenge of ${hours} hours ago or ahead`).to.equal(false);
    }
    for (const hours of [-25, 25, 24 * 365])
      expect(await signs(hours * HOUR_MS, hours * HOUR_MS), `${hours} hours`).to.equal(false);
    expect(await signs(4 * MINUTE_MS, 9 * HOUR_MS), 'near by the own clock').to.equal(true);
  });

  it('rejects a nonce that is not 32 hex digits, and options with a line break', async () => {
    const host = 'redbook.example';
    const nonce = 'a'.repeat(32);
    const good = asking(() => nonce);
    await good.clock.until(signInWithMessage(good.connection, good.signer, { host }));
    expect(good.asked).to.have.length(1);
    expect(String(good.asked[0])).to.match(
      new RegExp(
        `^redbook.example wants .*\n${ADDRESS}\n\nSign in to trade.\n\nURI: https://redbook.example\n`,
      ),
    );
    const strange = ['', 'a', `${nonce}0`, `${nonce}\n`, `\n${nonce}`, `${nonce.slice(1)}\n`, 'g'.repeat(32)];
    for (const text of [...strange, `${nonce}\nResources:\n- https://phishing.example`, '{}']) {
      const { clock, connection, asked, signer } = asking(() => text);
      const error = await clock.until(errorOf(signInWithMessage(connection, signer, { host })));
      expect([error.code, asked], JSON.stringify(text)).to.deep.equal(['UNREADABLE_ANSWER', []]);
    }
    for (const options of [
      { host: `${host}\nhost` },
      { host, statement: 'a\nb' },
      { host, uri: 'https://a\rb' },
      { host, expirationTime: '\n' },
    ]) {
      const { clock, connection, asked, signer } = asking(() => nonce);
      const error = await clock.until(errorOf(signInWithMessage(connection, signer, options)));
      expect([error.code, asked]).to.deep.equal(['INVALID_ARGUMENT', []]);
    }
  });

  describe('over a network that loses answers', () => {
    /** A service that loses the answers to the first verifications. */
    function losing(count: number, loss: Scripted) {
      let challenges = 0;
      let verifications = 0;
      let signatures = 0;
      const staged = stage((route, _number, clock): Scripted => {
        if (route.endsWith('/challenge')) {
          challenges += 1;
          return { body: challengeAt(clock.now()) };
        }
        if (route.endsWith('/nonce')) {
          challenges += 1;
          return { body: 'a'.repeat(32) };
        }
        verifications += 1;
        const token = tokenAt(clock);
        return verifications <= count ? loss : { body: { verified: true, token, sessionToken: token } };
      });
      const sign = (): void => {
        signatures += 1;
      };
      return { ...staged, sign, counts: () => [challenges, verifications, signatures] };
    }
    const LOSSES: Readonly<Record<string, Scripted>> = {
      'a broken connection': { cut: true },
      'a proxy’s page': { status: 502, body: '<html>' },
      'a proxy’s page with a pause': { status: 503, body: '<html>', headers: { 'Retry-After': '2' } },
      'half an answer': { body: '{"verified":true,"tok' },
    };

    for (const [name, loss] of Object.entries(LOSSES))
      it(`starts again after ${name} when the signer does not prompt`, async () => {
        const typed = losing(3, loss);
        await typed.clock.until(signIn(typed.connection, signer(false, typed.sign)));
        expect(typed.counts()).to.deep.equal([4, 4, 4]);
        const text = losing(3, loss);
        const options = { host: 'redbook.example' };
        await text.clock.until(signInWithMessage(text.connection, signer(false, text.sign), options));
        expect(text.counts()).to.deep.equal([4, 4, 4]);
        const prompting = losing(1, loss);
        await prompting.clock.until(errorOf(signIn(prompting.connection, signer(true, prompting.sign))));
        expect(prompting.counts(), 'a person is asked once').to.deep.equal([1, 1, 1]);
      });

    it('gives up after four attempts, after a refusal, and when the service asks for a long wait', async () => {
      const attempts = async (loss: Scripted): Promise<readonly number[]> => {
        const { clock, connection, sign, counts } = losing(9, loss);
        await clock.until(errorOf(signIn(connection, signer(false, sign))));
        return counts();
      };
      expect(await attempts({ cut: true })).to.deep.equal([4, 4, 4]);
      const refused = { status: 400, body: { code: 'BAD_REQUEST', error: 'no such challenge' } };
      expect(await attempts(refused)).to.deep.equal([1, 1, 1]);
      const away = { status: 503, body: '<html>', headers: { 'Retry-After': '86400' } };
      expect(await attempts(away)).to.deep.equal([1, 1, 1]);
    });
  });

  it('has the digest and the signature that docs/signing.md gives', async () => {
    const text = readFileSync(new URL('../../docs/signing.md', import.meta.url), 'utf8');
    const row = (name: string): string => new RegExp(`^\\| ${name} \\| \`(.*)\` \\|$`, 'm').exec(text)![1]!;
    const { address, signTyped } = ethersSigner(row('private key'));
    expect(address.toLowerCase()).to.equal(row('address'));
    const message = { address: row('address'), nonce: row('nonce'), issuedAt: row('issuedAt') };
    const { domain, types, primaryType } = challengeAt(0, row('address')).typedData;
    expect(domain.name).to.equal(row('name'));
    const { Login } = types;
    expect([
      TypedDataEncoder.hashDomain(domain),
      TypedDataEncoder.hashStruct(primaryType, { Login }, message),
      TypedDataEncoder.hash(domain, { Login }, message),
      await signTyped({ domain, types, primaryType, message } as Parameters<typeof signTyped>[0]),
    ]).to.deep.equal(['domainHash', 'loginHash', 'digest', 'signature'].map(row));
  });

  it('gives browser wallets a login of fixed types only', () => {
    const { domain, types, primaryType, message } = challengeAt(0).typedData;
    const foreign = {
      domain: { ...domain, chainId: 1 },
      types: { ...types, EIP712Domain: [{ name: 'chainId', type: 'uint256' }], Permit: PERMIT.types.Permit },
      primaryType: 'Permit',
      message: { ...message, value: '1' },
    } as unknown as LoginTypedData;
    const EIP712Domain = [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
    ];
    expect(JSON.parse(walletTypedData(foreign))).to.deep.equal({
      domain,
      primaryType,
      message,
      types: { EIP712Domain, ...types },
    });
  });

  for (const [library, create] of Object.entries({ ethers: ethersSigner, viem: viemSigner }))
    it(`gives a hostile service no signature of another use, signed by ${library}`, async () => {
      const { address, signTyped } = create();
      const connection = openConnection({
        baseUrl: 'http://hostile',
        fetch: async () => ({
          status: 200,
          headers: { get: () => null },
          text: async () => JSON.stringify({ typedData: PERMIT, expiresIn: '5m' }),
        }),
      });
      let signatures = 0;
      const signTypedData = (typedData: LoginTypedData): Promise<string> => {
        signatures += 1;
        return signTyped(typedData);
      };
      await errorOf(signIn(connection, { address, prompts: false, signTypedData }));
      expect(signatures).to.equal(0);
    });
});
