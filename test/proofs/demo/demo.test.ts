/** Proves that the demo performs the described trades on a running service and leaves nothing behind. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { getStatus, openConnection } from '../../../src/client/index.ts';
import { runDemo } from '../../../src/demo/index.ts';
import { type LiveOptions, runLive } from '../../../src/demo/live.ts';
import { MAX_CHANGES, openDesk } from '../../../src/demo/live-desk.ts';
import { findLiveMarkets, openWalk, priceText } from '../../../src/demo/live-market.ts';
import { random } from '../../../src/demo/random.ts';
import { makeTrader } from '../../../src/demo/trader.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import { createHttpServer } from '../../../src/http/server.ts';
import { type Fixture, openFixture } from '../../http/fixture.ts';
import { assetContents, liveContents } from '../../support/engine-contents.ts';
import { eventually } from '../../support/eventually.ts';
import { runSeed } from '../../support/seed.ts';

const WEB_HOST = 'redbook.example';
const STRANGER = `0x${'5'.repeat(40)}`;

describe('demo', () => {
  let fixture: Fixture;
  let server: Server;
  let baseUrl: string;
  let settling: Promise<void>;
  let isOver = false;
  /** Settles as a process does: one batch after another, and again after a failure. The last settlement must succeed. */
  const settleOn = async (): Promise<void> => {
    while (!isOver) {
      await fixture.settle().catch(() => undefined);
      await sleep(50);
    }
  };
  before(async () => {
    fixture = await openFixture({ webHosts: [WEB_HOST] });
    server = createHttpServer(fixture.app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    settling = settleOn();
  });
  after(async () => {
    isOver = true;
    await settling;
    server.closeAllConnections();
    server.close();
    await fixture.settle();
    await fixture.close();
  });

  const run = async (options: { webHost?: string; baseUrl?: string } = {}) => {
    const lines: string[] = [];
    const { engine, ledger } = fixture;
    const print = (line: string): void => void lines.push(line);
    const services = { engine, ledger };
    const status = await runDemo({ baseUrl, webHost: WEB_HOST, services, print, ...options });
    return { status, text: lines.join('\n') };
  };

  /** The story without the parts that differ between runs. */
  const outline = (text: string): string =>
    text
      .replace(/0x[0-9a-f]{40}/g, 'WALLET')
      .replace(/^ *\d+ {2}(?=Ada|Ben|Cleo)/gm, 'TRADE ')
      .split('Reconcile: ')[0]!;

  const nothingLeft = async (): Promise<void> => {
    expect(await liveContents(fixture.engine)).to.have.property('size', 0);
    const { balances, supplyAtoms } = await assetContents(fixture.engine, 'USDC');
    const held = [...balances].filter(
      ([, { availableAtoms, reservedAtoms }]) => availableAtoms + reservedAtoms > 0n,
    );
    expect(held.map(([account]) => account)).to.deep.equal(['house']);
    expect(supplyAtoms).to.equal(balances.get('house')?.availableAtoms);
  };

  it('tells its story to the end, the same each time, and leaves no order and no funds', async () => {
    const first = await run();
    expect(first.status, first.text).to.equal(0);
    expect(first.text).to.contain('everything holds');
    for (const status of ['filled', 'cancelled', 'partially_filled_cancelled', 'rejected']) {
      expect(first.text).to.match(new RegExp(` ${status}$`, 'm'));
    }
    expect(first.text).to.contain('POST_ONLY_WOULD_CROSS').and.to.contain('the same order, not a second one');
    await nothingLeft();
    const second = await run();
    expect(second.status, second.text).to.equal(0);
    expect(outline(second.text)).to.equal(outline(first.text));
    await nothingLeft();
    for (const line of first.text.split('\n')) expect(line.length).to.be.at.most(120);
  });

  it('does not match orders of other wallets', async () => {
    await fixture.credit(STRANGER, { ETH: '100', USDC: '1000000' });
    for (const [bid, ask] of [
      ['2800', '3000.5'],
      ['2999.5', '3100'],
      ['3050', '3060'],
    ] as const) {
      await rest('buy', bid);
      await rest('sell', ask);
      const { status, text } = await run();
      expect(status, text).to.equal(0);
      expect(text).to.contain('everything holds');
      const cancelled = await fixture.engine.orders.cancelAll(STRANGER, null);
      expect(cancelled.map((order) => order.status)).to.deep.equal(['cancelled', 'cancelled']);
    }
  });

  it('uses another market when the first leaves no room', async () => {
    await rest('buy', '3000');
    await rest('sell', '3000.01');
    const { status, text } = await run();
    expect(status, text).to.equal(0);
    expect(text).to.contain('Three wallets trade BTC/USDC');
    await fixture.engine.orders.cancelAll(STRANGER, null);
  });

  it('accepts required terms', async () => {
    const requireTerms = async (version: string | null): Promise<void> => {
      await fixture.engine.switches.requireTerms(version);
      await eventually('the status names the terms', async () => {
        const { termsVersion } = await getStatus(openConnection({ baseUrl }));
        return termsVersion === version;
      });
    };
    await requireTerms('2026-01');
    const { status, text } = await run();
    await requireTerms(null);
    expect(status, text).to.equal(0);
    expect(text).to.contain('accept the terms, version 2026-01');
  });

  it('explains how to start the service when nothing answers', async () => {
    const { status, text } = await run({ baseUrl: 'http://127.0.0.1:1' });
    expect(status).to.equal(1);
    expect(text).to.equal(
      'Nothing answers at http://127.0.0.1:1.\nStart the service in another terminal with: npm start',
    );
  });

  it('reports why it stopped, and withdraws its deposits', async () => {
    await fixture.engine.orders.cancelAll(STRANGER, null);
    await fixture.engine.switches.pause();
    const { status, text } = await run();
    await fixture.engine.switches.resume();
    expect(status).to.equal(1);
    expect(text).to.match(/The demo stops here: placing an order failed: .*OPERATIONAL_PAUSED/);
    const { balances } = await assetContents(fixture.engine, 'ETH');
    const holders = [...balances]
      .filter(([, { availableAtoms }]) => availableAtoms > 0n)
      .map(([account]) => account);
    expect(holders).to.deep.equal([STRANGER]);
    const wrongHost = await run({ webHost: 'elsewhere.example' });
    expect(wrongHost.status).to.equal(1);
    expect(wrongHost.text).to.contain('domain_mismatch');
  });

  describe('that trades without end', () => {
    const ODD = { symbol: 'ODD/UNIT', tickSize: '0.000001', sizeStep: '1' } as const;
    const SYMBOLS = ['ETH/USDC', 'BTC/USDC', ODD.symbol];
    before(async () => {
      await fixture.engine.assets.set({ symbol: 'ODD', scale: 0 });
      await fixture.engine.assets.set({ symbol: 'UNIT', scale: 9 });
      await fixture.market({ ...ODD, minOrderSize: null, maxOrderSize: null });
      // Every run signs wallets in from the same address, whose requests are limited.
      await fixture.forgetRequests();
    });

    const watch = (options: Partial<LiveOptions> = {}) => {
      const lines: string[] = [];
      const controller = new AbortController();
      const { signal } = controller;
      const print = (line: string): void => void lines.push(line);
      const settings = { baseUrl, services: fixture, print, signal, seed: runSeed(), turnMs: 40 };
      const ended = runLive({ ...settings, ...options });
      return { lines, ended, stop: () => controller.abort() };
    };
    const quotesOf = async (symbol: string) => {
      const { bestBidTicks, bestAskTicks, lastTicks } = (
        await fixture.engine.reads.quotes((all) => all)
      ).quotes.get(symbol)!;
      return [bestBidTicks, bestAskTicks, lastTicks].map((ticks) => ticks?.toString());
    };
    /** Wallets with a balance, except the house and the stranger. */
    const holders = async (asset: string): Promise<string[]> => {
      const { balances } = await assetContents(fixture.engine, asset);
      return [...balances]
        .filter(([, { availableAtoms, reservedAtoms }]) => availableAtoms + reservedAtoms > 0n)
        .map(([account]) => account)
        .filter((account) => account !== 'house' && account !== STRANGER);
    };

    it('trades on every market, survives a restart, and leaves no order and no funds', async () => {
      const { lines, ended, stop } = watch();
      const isMoving = async (symbol: string): Promise<boolean> => {
        return (await quotesOf(symbol)).every((ticks) => ticks !== undefined);
      };
      await eventually('every market moves', async () =>
        (await Promise.all(SYMBOLS.map(isMoving))).every(Boolean),
      );
      const { port } = server.address() as AddressInfo;
      server.closeAllConnections();
      server.close();
      await eventually('it tells that the service is away', async () =>
        lines.some((line) => line.endsWith('The demo tries again.')),
      );
      const before = await Promise.all(SYMBOLS.map(quotesOf));
      server = createHttpServer(fixture.app).listen(port, '127.0.0.1');
      const hasMoved = async (symbol: string, at: number): Promise<boolean> =>
        JSON.stringify(await quotesOf(symbol)) !== JSON.stringify(before[at]);
      await eventually('every market goes on', async () =>
        (await Promise.all(SYMBOLS.map(hasMoved))).every(Boolean),
      );
      stop();
      expect(await ended, lines.join('\n')).to.equal(0);
      expect(lines[1]).to.include(`--seed ${runSeed()} `);
      expect(lines.at(-1)).to.match(
        /^\d+ orders are cancelled, and the funds of the wallets are withdrawn\.$/,
      );
      expect(await liveContents(fixture.engine)).to.have.property('size', 0);
      for (const asset of ['ETH', 'BTC', 'USDC', 'ODD', 'UNIT'])
        expect(await holders(asset)).to.deep.equal([]);
    });

    it('trades on one market when asked to, and handles an order in the way of its quotes', async () => {
      await fixture.credit(STRANGER, { USDC: '100000' });
      await rest('buy', '3100');
      expect(await fixture.engine.orders.liveCount(STRANGER)).to.equal(1);
      const { lines, ended, stop } = watch({ market: 'ETH/USDC' });
      await eventually(
        'the order is filled',
        async () => (await fixture.engine.orders.liveCount(STRANGER)) === 0,
      );
      stop();
      expect(await ended).to.equal(0);
      expect(lines[0]).to.match(/^5 wallets trade ETH\/USDC at /);
    });

    it('names the open markets when the given one is none of them', async () => {
      const { lines, ended } = watch({ market: 'NO/ONE' });
      expect(await ended).to.equal(1);
      expect(lines.join()).to.include(`NO/ONE is no open market; open are ${SYMBOLS.join(', ')}`);
    });

    it('sends a bounded number of requests a turn, and moves prices by its seed', async () => {
      let requests = 0;
      server.on('request', () => {
        requests += 1;
      });
      const connection = openConnection({ baseUrl });
      const [live] = await findLiveMarkets(connection, 'ETH/USDC', 1);
      const makers = ['one', 'two'].map((name) => makeTrader(name, connection));
      for (const maker of makers) {
        await maker.signInByTypedData();
        await fixture.credit(maker.wallet, { USDC: '1000000' });
        for (let at = 0; at < 10; at += 1)
          await maker.place({
            market: 'ETH/USDC',
            side: 'buy',
            type: 'limit',
            price: String(100 + at),
            size: '1',
          });
      }
      const desk = openDesk(live!, { makers, takers: makers }, runSeed());
      const walk = openWalk(live!, random(runSeed()));
      for (let turn = 0; turn < 2; turn += 1) {
        requests = 0;
        await desk.turn();
        expect(desk.price()).to.equal(priceText(live!, walk()));
        expect(requests).to.be.within(makers.length, makers.length * (1 + 2 * MAX_CHANGES) + 1);
      }
      for (const maker of makers) await maker.cancelAll();
    });
  });

  const rest = (side: 'buy' | 'sell', price: string) =>
    fixture.engine.orders.place({
      wallet: STRANGER,
      request: {
        market: 'ETH/USDC',
        side,
        type: 'limit',
        timeInForce: 'GTC',
        clientOrderId: null,
        leverage: null,
        price: parseDecimal(price),
        size: parseDecimal('1'),
        postOnly: true,
        reduceOnly: false,
      },
    });
});
