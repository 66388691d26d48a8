/** Tests accessibility: no violations of axe's rules, no sideways scrolling, and a session by keyboard alone. */

import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { overflowOf, RULES_OF_THEMES, violationsOf } from './axe.ts';
import { type Grid, newWallet, openGridMarket, placeLimit, tickerOf } from './grids.ts';
import { bookState, cancelButton, showTab, signIn, tableNamed } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';
import { createWallet } from './wallets.ts';

const SYMBOL = 'AXE/USDC';
/** A market with the longest names and with long figures. No page may become wider by it. */
const WIDE: Grid = {
  symbol: 'WIDEBASETOKEN016/WIDEQUOTETOKEN16',
  tickSize: '0.000001',
  sizeStep: '1',
  scales: { WIDEBASETOKEN016: 0, WIDEQUOTETOKEN16: 6 },
  price: '1234567.123456',
  size: '6789',
  asks: ['1234567.123456', '1234568'],
  bids: ['1234567.123455', '0.000001'],
  funds: { WIDEBASETOKEN016: '1000000', WIDEQUOTETOKEN16: '200000000000' },
};
const WIDTHS = [360, 768, 1280, 1920];
/** CSS pixels; WCAG 2.2 asks for targets of this size. */
const AXE_WIDTHS = [360, 1280];
const TABS = ['Open orders', 'Fills', 'Balances'];

describe('access to the page', () => {
  let stage: Stage;
  let url: string;
  const trader = createWallet();
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: SYMBOL }, { AXE: 8, USDC: 6 });
    url = `${stage.url}/trade/AXE_USDC`;
    const maker = newWallet();
    for (const wallet of [maker, trader.addresses[0]!])
      await stage.credit(wallet, { AXE: '100', USDC: '1000000' });
    for (let level = 1; level <= 20; level += 1) {
      const rest = stage.as(maker);
      const size = `${level}.5`;
      await placeLimit(rest, { market: SYMBOL, side: 'sell', price: `${2000 + level}.25`, size: '1.5' });
      await placeLimit(rest, { market: SYMBOL, side: 'buy', price: `${2000 - level}.75`, size });
    }
    const rest = stage.as(trader.addresses[0]);
    await placeLimit(rest, { market: SYMBOL, side: 'buy', price: '2001.25', size: '0.25' });
    await placeLimit(rest, { market: SYMBOL, side: 'buy', price: '1990', size: '1' });
    const { taker } = await openGridMarket(stage, WIDE);
    await placeLimit(stage.as(taker), { market: WIDE.symbol, side: 'buy', price: WIDE.price, size: '1234' });
  });

  browserTest("has no violation of axe's rules in either theme, and no sideways scrolling", async (open) => {
    const { page } = await open(url, { wallets: [trader] });
    await bookState(page, 'live').waitFor();
    const found: string[] = [];
    const judge = async (what: string, part?: string): Promise<void> => {
      for (const [colorScheme, rules] of RULES_OF_THEMES) {
        await page.emulateMedia({ colorScheme });
        for (const line of await violationsOf(page, rules, part))
          found.push(`${what}, ${colorScheme}: ${line}`);
      }
    };
    const look = async (state: string): Promise<void> => {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        const overflow = await overflowOf(page);
        if (overflow > 0) found.push(`${state} at ${width}: ${overflow} px too wide`);
        if (AXE_WIDTHS.includes(width)) await judge(`${state} at ${width}`);
      }
    };
    await look('signed out');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await judge('sign-in', 'dialog');
    await page.keyboard.press('Escape');
    await signIn(page, trader);
    await cancelButton(page, 'buy 1 AXE at 1990').waitFor();
    await look('signed in');
    for (const tab of TABS) {
      await showTab(page, tab);
      await judge(tab, '[role=tabpanel]');
    }
    await page.getByRole('button', { name: 'Depth', exact: true }).click();
    await judge('depth', '.chart');
    await page.goto(`${stage.url}/`);
    await page.getByRole('table', { name: 'Markets' }).waitFor();
    await page.getByRole('cell', { name: '1235' }).waitFor();
    await look('overview');
    await page.goto(`${stage.url}/trade/${tickerOf(WIDE.symbol)}`);
    await bookState(page, 'live').waitFor();
    await look('the market with the longest names');
    expect(found.join('\n\n')).to.equal('');
  });

  /**
   * Presses Tab until the element has the focus.
   * @throws Error if it never gets the focus
   */
  async function tabTo(page: Page, target: Locator, max = 80): Promise<void> {
    await target.waitFor();
    for (let pressed = 0; pressed < max; pressed += 1) {
      if (await target.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${target}`);
  }

  browserTest('takes a whole session by keyboard: sign in, buy, cancel, sign out', async (open) => {
    const wallet = createWallet();
    await stage.credit(wallet.addresses[0]!, { USDC: '10000' });
    const { page } = await open(url, { wallets: [wallet] });
    await bookState(page, 'live').waitFor();
    const keyboard = page.keyboard;

    await tabTo(page, page.getByRole('button', { name: 'Sign in', exact: true }));
    await keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: wallet.info.name, exact: true }));
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor({ state: 'detached' });

    await tabTo(page, page.getByRole('radio', { name: 'Buy side', exact: true }));
    await tabTo(page, page.getByRole('textbox', { name: 'Price', exact: true }));
    await keyboard.press('Control+A');
    await keyboard.type('1900.5');
    await tabTo(page, page.getByRole('textbox', { name: 'Size', exact: true }));
    await keyboard.type('0.25');
    await tabTo(page, page.getByRole('button', { name: 'Buy', exact: true }));
    await keyboard.press('Enter');

    const cancel = cancelButton(page, 'buy 0.25 AXE at 1900.5');
    await tabTo(page, cancel);
    await keyboard.press('Enter');
    await cancel.waitFor({ state: 'detached' });
    const { body } = await stage.as(wallet.addresses[0])('GET', '/v1/orders');
    expect(body.orders.map(({ status }: { status: string }) => status)).to.deep.equal(['cancelled']);
    await tableNamed(page, 'Open orders')
      .or(page.getByText(/no open orders/i))
      .first()
      .waitFor();
  });
});
