/** Tests the page while parts of the service hang, die, or lose answers. */

import { expect } from 'chai';
import { parseDecimal } from '../../src/domain/units.ts';
import { failOver } from './failover.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { newWallet, placeLimit } from './grids.ts';
import {
  bookState,
  cancelButton,
  fillForm,
  hearing,
  readTable,
  signIn,
  submit,
  tableNamed,
  untilRead,
} from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { besideEachOther } from './visit.ts';
import { createWallet } from './wallets.ts';

const SYMBOL = 'LOST/USDC';
/** The page marks a book as stale within six seconds of its last frame. */
const STALE_MS = 6_000;
const PATIENCE_MS = 60_000;
/** The browser's own console lines about lost replies and connections. */
const NETWORK_NOISE = [/net::ERR_/, /status of 50\d/, /WebSocket connection/];

describe('the page during outages', () => {
  let stage: Stage;
  let url: string;
  /** Loses the requests of the test that runs beside the others, and none of theirs. */
  let gateway: Gateway;
  after(() => gateway.close());
  before(async () => {
    stage = await sharedStage();
    gateway = await openGateway(stage.ports);
    await stage.market({ symbol: SYMBOL }, { LOST: 8, USDC: 6 });
    url = `${stage.url}/trade/LOST_USDC`;
    const maker = newWallet();
    await stage.credit(maker, { LOST: '100', USDC: '100000' });
    const rest = stage.as(maker);
    await placeLimit(rest, { market: SYMBOL, side: 'sell', price: '2100', size: '1' });
    await placeLimit(rest, { market: SYMBOL, side: 'buy', price: '1900', size: '1' });
  });

  const signal = (role: 'snapshot' | 'stream', name: NodeJS.Signals): void => {
    process.kill(stage.process(role).child.pid!, name);
  };

  /** Settles when the tests that stop the stream are over. */
  let streamStays: () => void;
  const streamTests = new Promise<void>((resolve) => {
    streamStays = resolve;
  });

  besideEachOther(
    [
      'never says that an order was placed, or refused, that did not arrive',
      async (open) => {
        const wallet = createWallet();
        const rest = stage.as(wallet.addresses[0]);
        await stage.credit(wallet.addresses[0]!, { USDC: '10000' });
        const choices = { 'ask-market': 'never' };
        const { page, tolerate } = await open(`${gateway.url}/trade/LOST_USDC`, {
          wallets: [wallet],
          choices,
        });
        tolerate(...NETWORK_NOISE, /status of 404/);
        await signIn(page, wallet);
        const sent = page.getByRole('list', { name: 'Orders you sent' });
        const lost = gateway.loseRequests('POST', '/v1/orders');
        const send = async (size: string): Promise<string> => {
          await fillForm(page, { side: 'buy', type: 'Market', size });
          await submit(page, 'buy');
          const told = sent.getByRole('listitem').filter({ hasText: `Buy ${size} LOST` });
          const text = await told.getByText(/no answer: looking it up/i).textContent();
          return /\(id (\w+)\)/.exec(text!)![1]!;
        };
        const unseen = gateway.loseRequests('GET', `/v1/orders/by-client-id/${await send('0.5')}`);
        // A look-up after the deadline ends the other one.
        await send('0.3');
        await sent.getByText(/not placed: the exchange had not begun it/).waitFor({ timeout: PATIENCE_MS });
        await sent.getByText(/outcome unknown/).waitFor({ timeout: PATIENCE_MS });
        lost.stop();
        expect((await rest('GET', '/v1/orders')).body.orders).to.deep.equal([]);
        await streamTests;
        // A press of the button offers the safe way first.
        await fillForm(page, { side: 'buy', type: 'Market', size: '0.5' });
        await submit(page, 'buy');
        const again = { name: 'Send the same order again (never places two)' };
        await page.getByRole('dialog').getByRole('button', again).click();
        await sent.getByText(/found: Bought 0\.5 LOST at 2100/).waitFor();
        expect((await rest('GET', '/v1/orders')).body.orders).to.have.length(1);
        unseen.stop();
      },
    ],
    [
      [
        'shows a book without updates as stale, not clickable, and recovers by itself',
        async (open) => {
          const { page } = await open(url, { prepare: ({ page }) => page.clock.install() });
          const row = tableNamed(page, 'Order book').getByRole('button', { name: '2100', exact: true });
          await bookState(page, 'live').waitFor();
          expect(await row.isEnabled()).to.equal(true);
          signal('snapshot', 'SIGSTOP');
          try {
            await page.clock.fastForward(STALE_MS);
            await bookState(page, 'stale').waitFor();
            expect(await row.isEnabled()).to.equal(false);
          } finally {
            signal('snapshot', 'SIGCONT');
          }
          await bookState(page, 'live').waitFor({ timeout: PATIENCE_MS });
          await untilRead(() => row.isEnabled(), Boolean);
        },
      ],
      [
        'says that it is offline when the service is gone, and comes back with the first read that succeeds',
        async (open) => {
          const { page, tolerate } = await open(url, { prepare: ({ page }) => page.clock.install() });
          tolerate(...NETWORK_NOISE);
          await bookState(page, 'live').waitFor();
          const secondsLeft = async (): Promise<number> =>
            Number(/retry in (\d+) s/.exec((await page.getByRole('banner').textContent())!)?.[1] ?? 0);
          const reads = '**/v1/**';
          try {
            await page.route(reads, (route) => route.abort());
            await stage.process('stream').end('SIGKILL');
            await bookState(page, 'offline').waitFor();
            // The pause between two attempts grows, and is longer now than that between two reads.
            await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000));
            for (let tries = 0; tries < 100 && (await secondsLeft()) < 9; tries += 1)
              await page.clock.runFor(1_000);
            expect(await secondsLeft()).to.be.at.least(9);
            await stage.restart('stream');
            await page.unroute(reads);
            const isLive = (): Promise<boolean> => bookState(page, 'live').isVisible();
            for (let seconds = 0; seconds < 8 && !(await isLive()); seconds += 1) {
              await page.clock.runFor(1_000);
              await untilRead(isLive, Boolean, 500).catch(() => undefined);
            }
            expect(await isLive()).to.equal(true);
          } finally {
            streamStays();
          }
        },
      ],
      [
        'finds an order whose answer was lost with the api, and tells its fill once',
        async (open) => {
          const wallet = createWallet();
          const taker = newWallet();
          await stage.credit(wallet.addresses[0]!, { USDC: '10000' });
          await stage.credit(taker, { LOST: '10' });
          const { page, tolerate } = await open(url, { wallets: [wallet] });
          tolerate(...NETWORK_NOISE);
          await signIn(page, wallet);
          const heard = await hearing(page);
          await fillForm(page, { side: 'buy', price: '2000', size: '0.5' });
          const killed = stage.gateway.loseNextReply('POST', '/v1/orders', async () => {
            await stage.process('api').end('SIGKILL');
          });
          await submit(page, 'buy');
          await killed;
          await page
            .getByText(/no answer: looking it up/i)
            .first()
            .waitFor();
          // The order is filled in part while nothing answers the page.
          const rules = { timeInForce: 'GTC', postOnly: false, reduceOnly: false, leverage: null } as const;
          const size = parseDecimal('0.2')!;
          const price = parseDecimal('2000')!;
          const order = {
            ...rules,
            market: SYMBOL,
            side: 'sell',
            type: 'limit',
            clientOrderId: null,
          } as const;
          await stage.engine.orders.place({
            wallet: taker.toLowerCase(),
            request: { ...order, size, price },
          });
          await stage.restart('api');
          await cancelButton(page, 'buy 0.3 LOST at 2000').waitFor({ timeout: PATIENCE_MS });
          const { body } = await stage.as(wallet.addresses[0])('GET', '/v1/orders');
          expect(body.orders.map(({ status, size }: Record<string, string>) => [status, size])).to.deep.equal(
            [['partially_filled', '0.5']],
          );
          await untilRead(
            () => heard('Bought 0.2 LOST at 2000 on average for 400 USDC.'),
            (count) => count === 1,
          );
          expect((await readTable(page, 'Open orders')).rows).to.have.length(1);
        },
      ],
      [
        'sends an order that can rest again by itself when it did not arrive',
        async (open) => {
          const wallet = createWallet();
          await stage.credit(wallet.addresses[0]!, { USDC: '10000' });
          const { page, tolerate } = await open(url, { wallets: [wallet] });
          tolerate(...NETWORK_NOISE, /status of 404/);
          await signIn(page, wallet);
          await fillForm(page, { side: 'buy', type: 'Limit', price: '1800', size: '0.5' });
          const lost = stage.gateway.loseRequests('POST', '/v1/orders');
          await submit(page, 'buy');
          await lost.first;
          await page
            .getByText(/no answer: looking it up/i)
            .first()
            .waitFor();
          lost.stop();
          await cancelButton(page, 'buy 0.5 LOST at 1800').waitFor({ timeout: PATIENCE_MS });
          const { body } = await stage.as(wallet.addresses[0])('GET', '/v1/orders');
          expect(body.orders.map(({ status }: Record<string, string>) => status)).to.deep.equal(['resting']);
        },
      ],
    ],
  );

  besideEachOther(
    ['says what came of each order, and places each once, when the engine fails over', failOver],
    [],
  );
});
