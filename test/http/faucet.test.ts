/** Proves that the faucet credits test funds to sessions on this machine, up to its caps. */

import type { IncomingMessage, RequestListener } from 'node:http';
import { expect } from 'chai';
import request, { type Response } from 'supertest';
import { reconcile } from '../../src/books/reconcile/index.ts';
import { CREDITS_PER_WALLET, type Faucet, openFaucet } from '../../src/demo/faucet.ts';
import { DEMO_MARKETS, FAUCET_AMOUNTS } from '../../src/demo/markets.ts';
import type { Refusal } from '../../src/domain/errors.ts';
import { localCallers } from '../../src/http/local-caller.ts';
import { DOCUMENT_SETTINGS } from '../support/contract.ts';
import { assetContents } from '../support/engine-contents.ts';
import { type Fixture, openFixture, type Trader, traderOf } from './fixture.ts';

const PATH = '/v1/demo/faucet';
const walletOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;

describe('the faucet', () => {
  let fixture: Fixture;
  before(async () => {
    fixture = await openFixture();
  });
  after(() => fixture.close());

  const ask = (trader: Trader, asset: string): Promise<Response> => trader.post(PATH, { asset });
  const balanceOf = async (wallet: string, asset: string): Promise<bigint> =>
    (await fixture.engine.funds.readBalances(wallet)).find((one) => one.asset === asset)?.availableAtoms ??
    0n;
  const settled = async (): Promise<void> => {
    await fixture.settle();
    const { holds } = await reconcile(fixture, { patienceMs: 5_000 });
    expect(holds).to.equal(true);
  };

  it('offers an amount of every asset of the demo markets, and of no other', () => {
    const assets = DEMO_MARKETS.flatMap(({ symbol }) => symbol.split('/'));
    expect(Object.keys(FAUCET_AMOUNTS)).to.have.members([...new Set(assets)]);
  });

  it('credits the wallet of the session up to a maximum number of credits', async () => {
    const trader = await fixture.trader();
    for (let left = CREDITS_PER_WALLET - 1; left >= 0; left -= 1) {
      const { status, body } = await ask(trader, 'USDC');
      expect([status, body]).to.deep.equal([200, { asset: 'USDC', amount: 10_000, creditsLeft: left }]);
    }
    const { status, body } = await ask(trader, 'USDC');
    expect([status, body]).to.deep.equal([
      400,
      { error: 'the faucet has given this wallet all the USDC it gives a wallet', code: 'BAD_REQUEST' },
    ]);
    expect(await balanceOf(trader.wallet, 'USDC')).to.equal(50_000_000_000n);
    expect((await ask(trader, 'ETH')).body).to.deep.equal({ asset: 'ETH', amount: 10, creditsLeft: 4 });
    expect(await balanceOf(trader.wallet, 'ETH')).to.equal(1_000_000_000n);
    await settled();
  });

  it('writes ordinary credits with a reference each', async () => {
    const trader = await fixture.trader();
    await ask(trader, 'ETH');
    await ask(trader, 'ETH');
    const events = await fixture.engine.outbox.readUnsettled(trader.wallet);
    const credits = events.flatMap((event) => (event.kind === 'credited' ? [event] : []));
    expect(credits.map(({ asset, amountAtoms }) => [asset, amountAtoms])).to.deep.equal([
      ['ETH', 1_000_000_000n],
      ['ETH', 1_000_000_000n],
    ]);
    const references = credits.map(({ reference }) => reference);
    for (const reference of references) expect(reference).to.match(/^faucet:ETH:\d{1,4}$/);
    expect(new Set(references).size).to.equal(2);
  });

  it('rejects other assets, a missing asset, and requests without a session', async () => {
    const trader = await fixture.trader();
    for (const asset of ['DOGE', 'usdc', 'constructor', '']) {
      const { status, body } = await ask(trader, asset);
      expect([status, body.code], asset).to.deep.equal([400, 'VALIDATION_ERROR']);
    }
    expect((await trader.post(PATH, {})).body.code).to.equal('VALIDATION_ERROR');
    const { status, body } = await request(fixture.app).post(PATH).send({ asset: 'USDC' });
    expect([status, body.code]).to.deep.equal([401, 'UNAUTHORIZED']);
  });

  describe('for other callers', () => {
    const isLocalCaller = localCallers(DOCUMENT_SETTINGS.webHosts);
    /** A reply without the parts that differ between requests. */
    const comparable = ({ status, headers, text }: Response) => {
      const own = ['date', 'x-request-id', 'ratelimit-remaining', 'ratelimit-reset'];
      const rest = Object.entries(headers).filter(([name]) => !own.includes(name));
      return { status, headers: Object.fromEntries(rest), text };
    };
    const from =
      (app: RequestListener, address: string): RequestListener =>
      (incoming, outgoing) => {
        Object.defineProperty(incoming.socket, 'remoteAddress', { value: address });
        app(incoming, outgoing);
      };
    const expectUnknown = async (
      app: RequestListener,
      trader: Trader,
      headers: Record<string, string> = {},
    ): Promise<void> => {
      for (const method of ['post', 'options'] as const) {
        const send = (path: string): Promise<Response> =>
          request(app)
            [method](path)
            .set('Authorization', `Bearer ${trader.token}`)
            .set(headers)
            .send({ asset: 'ETH' });
        const here = await send(PATH);
        const unknown = await send('/v1/demo/nothing');
        expect(comparable(here)).to.deep.equal(comparable(unknown));
        expect([here.status, here.body.statusCode]).to.deep.equal([404, 404]);
      }
    };

    it('is an unknown route for other machines', async () => {
      const trader = await fixture.trader();
      await expectUnknown(from(fixture.app, '192.0.2.7'), trader);
      expect(await balanceOf(trader.wallet, 'ETH')).to.equal(0n);
    });

    it('is an unknown route for requests that a proxy forwarded, also a trusted one', async () => {
      const { app } = await fixture.replica({ trustProxyHops: 1 });
      const trader = await fixture.trader();
      for (const headers of [
        { 'X-Forwarded-For': '127.0.0.1' },
        { 'x-forwarded-proto': 'https' },
        { Forwarded: 'for=127.0.0.1' },
        { 'X-Real-IP': '127.0.0.1' },
        { Via: '1.1 proxy' },
      ] as Record<string, string>[]) {
        await expectUnknown(fixture.app, trader, headers);
        await expectUnknown(app, trader, headers);
      }
      expect(await balanceOf(trader.wallet, 'ETH')).to.equal(0n);
    });

    it('is an unknown route when the setting is off', async () => {
      const { app } = await fixture.replica({ demoFaucet: false });
      await expectUnknown(app, await fixture.trader());
    });

    it('is an unknown route for a page whose host name was rebound to this machine', async () => {
      const trader = await fixture.trader();
      await expectUnknown(fixture.app, trader, { Host: 'evil.example', Origin: 'http://evil.example' });
      expect(await balanceOf(trader.wallet, 'ETH')).to.equal(0n);
    });

    it('accepts the hosts of the front ends and the loopback names', () => {
      const { socket } = { socket: { remoteAddress: '127.0.0.1' } } as IncomingMessage;
      const isOwn = (host: string | undefined): boolean => isLocalCaller({ socket, headers: { host } });
      for (const host of [
        'redbook.example',
        'WWW.Redbook.example',
        'localhost:8080',
        'LOCALHOST',
        '127.0.0.1:1',
        '127.8.9.10',
        '[::1]:8080',
      ])
        expect(isOwn(host), host).to.equal(true);
      for (const host of [
        undefined,
        '',
        'evil.example',
        'redbook.example:8080',
        'redbook.example.',
        'www.www.redbook.example',
        'localhost.evil.example',
        'localhost.',
        'localhost:8080.evil.example',
        '127.0.0.1.evil.example',
        '127.evil.example',
        'localhost@evil.example',
        '[::1].evil.example',
        '0.0.0.0:8080',
        '192.0.2.7',
        '::1',
      ])
        expect(isOwn(host), String(host)).to.equal(false);
    });

    it('recognizes the addresses of this machine', () => {
      const isLocal = (remoteAddress: string | undefined): boolean =>
        isLocalCaller({ socket: { remoteAddress }, headers: { host: 'localhost' } } as IncomingMessage);
      for (const address of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'])
        expect(isLocal(address), address).to.equal(true);
      for (const address of ['128.0.0.1', '10.0.0.1', '::', '::2', '::ffff:10.0.0.1', '1::1', '', undefined])
        expect(isLocal(address), String(address)).to.equal(false);
    });
  });

  it('limits a wallet when its requests come at the same time at two replicas', async () => {
    const other = await fixture.replica({}, { faucet: openFaucet(fixture) });
    const trader = await fixture.trader();
    const elsewhere = traderOf(other.app, trader.signer, trader.token);
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, at) => ask(at % 2 === 0 ? trader : elsewhere, 'ETH')),
    );
    expect(replies.filter(({ status }) => status === 200)).to.have.length(CREDITS_PER_WALLET);
    expect(await balanceOf(trader.wallet, 'ETH')).to.equal(5_000_000_000n);
  });

  it('limits all wallets together at two replicas, after a restart, and when Redis lost its data', async () => {
    const creditsInAll = 32;
    const wallets = Array.from({ length: 9 }, (_, at) => walletOf(at + 1));
    const open = (): Faucet => openFaucet(fixture, creditsInAll);
    const given = async (): Promise<number> => {
      const { supplyAtoms } = await assetContents(fixture.engine, 'BTC');
      return Number(supplyAtoms / 100_000_000n);
    };
    const refusalOf = (asked: Promise<unknown>): Promise<string | undefined> =>
      asked.then(
        () => undefined,
        (error: unknown) => (error as Refusal).message,
      );
    const faucets = [open(), open()] as const;
    const asked = wallets.flatMap((wallet) => faucets.map((faucet) => [wallet, faucet] as const));
    const refusals: (string | undefined)[] = [];
    for (let round = 0; round < CREDITS_PER_WALLET; round += 1)
      refusals.push(
        ...(await Promise.all(asked.map(([wallet, faucet]) => refusalOf(faucet.credit(wallet, 'BTC'))))),
      );
    expect(refusals.filter((message) => message === undefined)).to.have.length(creditsInAll);
    expect(refusals).to.include('the faucet has no BTC left');
    expect(await given()).to.equal(creditsInAll);
    for (const wallet of wallets)
      expect(Number(await balanceOf(wallet, 'BTC'))).to.be.at.most(CREDITS_PER_WALLET * 100_000_000);

    await settled();
    for (const key of await fixture.redis.keys('{redbook}:claims:*')) await fixture.redis.del(key);
    const restarted = open();
    for (const wallet of [walletOf(10), wallets[0]!])
      expect(await refusalOf(restarted.credit(wallet, 'BTC'))).to.match(/^the faucet has /);
    expect(await given()).to.equal(creditsInAll);
  });
});
