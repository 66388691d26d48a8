/** Tests the page for readers who look elsewhere, who leave, and who come for the first time. */

import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { overflowOf, violationsOf } from './axe.ts';
import { newWallet, placeLimit } from './grids.ts';
import {
  bookState,
  cancelButton,
  fillForm,
  hearing,
  offerDemo,
  setVisibility,
  signIn,
  submit,
  untilHeard,
  untilRead,
} from './screen.ts';
import { type Rest, type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';
import { createWallet } from './wallets.ts';

const SYMBOL = 'WATCH/USDC';

/** Counts the notifications and sounds that the browser of this context really gives. */
async function countSigns(context: BrowserContext, origin: string): Promise<() => Record<string, number>> {
  const given: Record<string, number> = {};
  await context.grantPermissions(['notifications'], { origin });
  await context.exposeBinding('redbookTestSign', (_source, name: string) => {
    given[name] = (given[name] ?? 0) + 1;
  });
  await context.addInitScript(() => {
    const tell = (name: string): void => {
      (window as unknown as { redbookTestSign(name: string): void }).redbookTestSign(name);
    };
    const { Notification: Browsers } = window;
    window.Notification = class extends Browsers {
      constructor(...options: ConstructorParameters<typeof Browsers>) {
        super(...options);
        this.addEventListener('show', () => tell('notice'));
      }
    };
    const { start } = OscillatorNode.prototype;
    OscillatorNode.prototype.start = function (...when) {
      this.addEventListener('ended', () => tell('sound'));
      return start.apply(this, when);
    };
  });
  return () => given;
}

describe('watching the page', () => {
  let stage: Stage;
  let url: string;
  let maker: Rest;
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: SYMBOL }, { WATCH: 8, USDC: 6 });
    url = `${stage.url}/trade/WATCH_USDC`;
    const wallet = newWallet();
    await stage.credit(wallet, { WATCH: '1010', USDC: '10000000' });
    maker = stage.as(wallet);
    await placeLimit(maker, { market: SYMBOL, side: 'sell', price: '2001', size: '1000' });
    await placeLimit(maker, { market: SYMBOL, side: 'buy', price: '1999', size: '1000' });
  });

  const openAlerts = (page: Page) => page.getByRole('button', { name: /^Price alerts/ }).click();

  browserTest('tells a reached price once, in tabs that nobody sees, and remembers it', async (open) => {
    let given: () => Record<string, number> = () => ({});
    const { page, context } = await open(url, {
      choices: { signs: 'both' },
      prepare: async (visit) => {
        given = await countSigns(visit.context, stage.url);
      },
    });
    const other = await context.newPage();
    await other.goto(url);
    await bookState(other, 'live').waitFor();
    await page.bringToFront();
    await bookState(page, 'live').waitFor();
    const heard = [await hearing(page), await hearing(other)];
    await openAlerts(page);
    const dialog = page.getByRole('dialog');
    const price = dialog.getByLabel(/mark price of WATCH\/USDC gets to/);
    for (const [typed, told] of [
      ['2000.505', 'Not set: that is not a price of this market.'],
      ['2000', 'Not set: that is the mark price now.'],
    ] as const) {
      await price.fill(typed);
      await page.keyboard.press('Enter');
      await dialog.getByText(told).waitFor();
    }
    for (const typed of ['2 000,50', '1990']) {
      await price.fill(typed);
      await page.keyboard.press('Enter');
    }
    await dialog.getByText('WATCH/USDC 2000.5 when it rises there').waitFor();
    await dialog.getByText('WATCH/USDC 1990 when it falls there').waitFor();
    expect(await violationsOf(page, {}, 'dialog[open]')).to.deep.equal([]);
    await page.keyboard.press('Escape');
    await other.getByRole('button', { name: 'Price alerts, 2 set' }).waitFor({ state: 'attached' });
    for (const one of [page, other]) await setVisibility(one, 'hidden');
    const { id } = await placeLimit(maker, { market: SYMBOL, side: 'buy', price: '2000.2', size: '1' });
    for (const one of [page, other])
      await untilRead(
        () => one.title(),
        (title) => title === 'WATCH/USDC at 2000.5 · WATCH/USDC · Redbook',
      );
    await untilRead(
      async () => given(),
      ({ notice, sound }) => notice === 1 && sound === 1,
    );
    await maker('DELETE', `/v1/orders/${id}`);
    // The sentence waits for the reader, who is signed out and hears no other.
    await page.getByRole('status').getByText('WATCH/USDC has reached 2000.5.').waitFor();
    await setVisibility(page, 'visible');
    expect(await page.title()).to.not.include('2000.5 ·');
    for (const count of heard) expect(await count('WATCH/USDC has reached 2000.5.')).to.equal(1);
    expect(given()).to.deep.equal({ notice: 1, sound: 1 });
    await page.reload();
    await openAlerts(page);
    await dialog.getByText(/WATCH\/USDC 2000\.5 reached/).waitFor();
    for (const at of ['2000.5', '1990'])
      await dialog.getByRole('button', { name: `Remove the alert of ${SYMBOL} at ${at}` }).click();
    expect(await page.evaluate(() => localStorage.getItem('redbook:alerts'))).to.equal('[]');
  });

  browserTest('says once that the browser makes no notifications, and why', async (open) => {
    const ofWatch = { market: SYMBOL, isRise: true, reachedAt: null };
    const set = ['2000.5', '2000.7'].map((price) => ({ ...ofWatch, id: price, price }));
    const browsers: readonly (readonly [why: string, change: () => void])[] = [
      ['this browser knows none', () => Reflect.deleteProperty(window, 'Notification')],
      [
        'this browser was told to refuse them',
        () => Object.defineProperty(Notification, 'permission', { value: 'denied' }),
      ],
      [
        'this browser makes none for pages',
        () => {
          function Illegal(): never {
            throw new TypeError('Illegal constructor. Use ServiceWorkerRegistration.showNotification()');
          }
          Object.assign(window, { Notification: Object.assign(Illegal, { permission: 'granted' }) });
        },
      ],
    ];
    const told = await Promise.all(
      browsers.map(async ([why, change]) => {
        const { page } = await open(url, {
          choices: { alerts: JSON.stringify(set) },
          prepare: async ({ context }) => void (await context.addInitScript(change)),
        });
        await bookState(page, 'live').waitFor();
        return { why, heard: await hearing(page) };
      }),
    );
    const none = ' There are no notifications: ';
    for (const [bid, reached] of [
      ['2000.2', '2000.5'],
      ['2000.6', '2000.7'],
    ] as const) {
      const { id } = await placeLimit(maker, { market: SYMBOL, side: 'buy', price: bid, size: '1' });
      for (const { heard } of told) await untilHeard(heard, `${SYMBOL} has reached ${reached}.`);
      await maker('DELETE', `/v1/orders/${id}`);
    }
    for (const { why, heard } of told) {
      expect(await heard(`${SYMBOL} has reached 2000.5.${none}${why}.`)).to.equal(1);
      expect(await heard(none)).to.equal(1);
    }
  });

  browserTest('asks before the last tab with open orders closes, unless it need not', async (open) => {
    const wallet = createWallet();
    await stage.credit(wallet.addresses[0]!, { USDC: '10000' });
    let given: () => Record<string, number> = () => ({});
    const { page, context } = await open(url, {
      wallets: [wallet],
      choices: { signs: 'both' },
      prepare: async (visit) => {
        given = await countSigns(visit.context, stage.url);
      },
    });
    const other = await context.newPage();
    await other.goto(url);
    for (const one of [page, other]) {
      await one.bringToFront();
      await signIn(one, wallet);
    }
    await fillForm(other, { side: 'buy', type: 'Limit', price: '1999.5', size: '1' });
    await submit(other, 'buy');
    for (const one of [page, other])
      await cancelButton(one, 'buy 1 WATCH at 1999.5').waitFor({ state: 'attached' });
    const heard = [await hearing(page), await hearing(other)];
    // A fill gives one notification and one sound, in whichever tab waits for it.
    await placeLimit(maker, { market: SYMBOL, side: 'sell', price: '1999.5', size: '0.4' });
    for (const one of heard) await untilHeard(one, 'Bought 0.4 WATCH at 1999.5 on average');
    await untilRead(
      async () => given(),
      ({ notice, sound }) => notice === 1 && sound === 1,
    );
    let questions = 0;
    for (const one of [page, other])
      one.on('dialog', (asked) => {
        questions += 1;
        void asked.dismiss();
      });
    /** Makes a tab count the tabs now, and waits for the count. */
    const count = async (one: Page): Promise<void> => {
      for (const state of ['hidden', 'visible'] as const) await setVisibility(one, state);
      await one.evaluate(() => navigator.locks.query());
    };
    await count(other);
    const closed = other.waitForEvent('close');
    await other.close({ runBeforeUnload: true });
    await closed;
    expect(questions).to.equal(0);
    await page.bringToFront();
    await page.getByRole('radio', { name: 'Buy side', exact: true }).click();
    await count(page);
    await page.close({ runBeforeUnload: true });
    await page.getByRole('alert').getByText('Your open order stays in the book').waitFor();
    expect(questions).to.equal(1);
    await page.getByText('Advanced', { exact: true }).click();
    await page.getByLabel('The last tab closes with open orders').selectOption('closes');
    const left = page.waitForEvent('close');
    await page.close({ runBeforeUnload: true });
    await left;
    expect(questions).to.equal(1);
    const { orders } = (await stage.as(wallet.addresses[0]!)('GET', '/v1/orders?status=live')).body;
    expect(orders).to.have.length(1);
  });

  browserTest(
    'shows first visitors a chart and play money, fills the screen, and writes figures as the browser does',
    async (open) => {
      const taker = newWallet();
      await stage.credit(taker, { USDC: '10000000' });
      // The largest volume of all markets of these tests with USDC, which most of them have.
      await placeLimit(stage.as(taker), { market: SYMBOL, side: 'buy', price: '2001', size: '200' });
      await stage.settled();
      const choices = { numbers: 'grouped', 'book-click': 'leaves' };
      const { page, context, tolerate } = await open(stage.url, {
        choices,
        prepare: async (visit) => void (await offerDemo(visit.context)),
      });
      const welcome = page.getByRole('region', { name: 'Welcome' });
      await welcome.getByText(/^This is a spot exchange/).waitFor();
      await welcome
        .getByRole('img', { name: /^Prices of WATCH\/USDC between [\d.]+ and 2001 since/ })
        .waitFor();
      const devTools = await context.newCDPSession(page);
      const { installabilityErrors } = await devTools.send('Page.getInstallabilityErrors');
      // A context of the tests counts as a private window, and nothing else may be missing.
      expect(installabilityErrors.map(({ errorId }) => errorId)).to.deep.equal(['in-incognito']);
      await page.setViewportSize({ width: 360, height: 740 });
      expect(await overflowOf(page)).to.be.at.most(0);
      await page.setViewportSize({ width: 1280, height: 800 });
      await welcome.getByRole('link', { name: SYMBOL }).click();
      await bookState(page, 'live').waitFor();
      const book = page.getByRole('table', { name: 'Order book' });
      await book.getByRole('button', { name: '1,999', exact: true }).waitFor();
      const ask = book.getByRole('button', { name: '2,001', exact: true });
      // The literal goes into the form, and the side stays.
      await page.getByRole('radio', { name: 'Sell side', exact: true }).check();
      await ask.click();
      expect(await page.getByRole('textbox', { name: 'Price', exact: true }).inputValue()).to.equal('2001');
      expect(await page.getByRole('radio', { name: 'Sell side', exact: true }).isChecked()).to.equal(true);
      await page.getByRole('textbox', { name: 'Size', exact: true }).fill('1234.5');
      await page.getByText('Sell 1,234.5 WATCH at 2,001 USDC or better, until cancelled.').waitFor();
      await page.getByText('Advanced', { exact: true }).click();
      await page.getByLabel('A click on the book').selectOption('takes');
      await page.getByLabel('Figures of books and tables').selectOption('plain');
      await book.getByRole('button', { name: '2001', exact: true }).click();
      expect(await page.getByRole('radio', { name: 'Buy side', exact: true }).isChecked()).to.equal(true);
      const full = page.getByRole('button', { name: 'Full screen', exact: true });
      await full.click();
      const filled = () =>
        page.evaluate(() => document.fullscreenElement?.getAttribute('aria-labelledby') ?? null);
      await untilRead(filled, (name) => name === 'chart-heading');
      await full.click();
      await untilRead(filled, (name) => name === null);
      // There is no faucet behind a gateway.
      tolerate(/status of 404/);
      await page.goto(stage.url);
      await welcome.getByRole('img').waitFor();
      await welcome.getByRole('button', { name: 'Try with play money' }).click();
      const account = page.getByRole('button', { name: /^Wallet 0x/ });
      await account.waitFor();
      await page.waitForURL(url);
      // Another tab has the same demo wallet.
      const second = await context.newPage();
      await second.goto(url);
      await second.getByRole('button', { name: 'Sign in', exact: true }).click();
      await second.getByRole('button', { name: 'Demo wallet' }).click();
      const [address] = /0x\w{4}…\w{4}/.exec((await account.textContent())!)!;
      await second.getByRole('button', { name: address }).waitFor();
    },
  );
});
