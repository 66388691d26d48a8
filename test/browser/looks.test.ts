/** Tests favourites, the zoom of the depth, the page on paper, and the page in the colours of the system. */

import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { newWallet, placeLimit } from './grids.ts';
import {
  bookState,
  cancelButton,
  reorderedWhenTurned,
  showTab,
  signIn,
  tableNamed,
  untilRead,
} from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';
import { createWallet } from './wallets.ts';

const SYMBOL = 'LOOK/USDC';
const TINY = 'TINY/GIGA';
const TINY_PRICE = '0.000000002345';
const LONG = 'LOOKATLONGNAME16/USDC';

describe('the looks of the page', () => {
  let stage: Stage;
  let url: string;
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: SYMBOL }, { LOOK: 8, USDC: 6 });
    url = `${stage.url}/trade/LOOK_USDC`;
    const wallet = newWallet();
    await stage.credit(wallet, { LOOK: '1000', USDC: '1000000' });
    const maker = stage.as(wallet);
    for (let level = 1; level <= 5; level += 1) {
      await placeLimit(maker, { market: SYMBOL, side: 'sell', price: `${2000 + level}`, size: '1' });
      await placeLimit(maker, { market: SYMBOL, side: 'buy', price: `${2000 - level}`, size: '1' });
    }
  });

  /** Returns the texts of a table that do not fit into their cells. */
  const cutIn = (page: Page, table: string, cells = 'tbody td'): Promise<(string | null)[]> =>
    tableNamed(page, table)
      .locator(cells)
      .evaluateAll((all) =>
        all.filter((cell) => cell.scrollWidth > cell.clientWidth).map(({ textContent }) => textContent),
      );

  browserTest('cuts and covers no figure of a tiny price, and no name beside it', async (open) => {
    await stage.market({ symbol: TINY, tickSize: '0.000000000001', sizeStep: '1000' }, { TINY: 0, GIGA: 9 });
    await stage.market({ symbol: LONG }, { LOOKATLONGNAME16: 8 });
    const wallet = createWallet();
    const [address] = wallet.addresses;
    await stage.credit(address!, { TINY: '9000000000', GIGA: '1000000', USDC: '1000' });
    const other = newWallet();
    await stage.credit(other, { GIGA: '1000000' });
    const own = stage.as(address);
    const taker = stage.as(other);
    const order = { market: TINY, size: '1234567000' };
    await placeLimit(own, { ...order, side: 'sell', price: TINY_PRICE });
    await placeLimit(taker, { ...order, side: 'buy', price: TINY_PRICE });
    await placeLimit(own, { ...order, side: 'sell', price: '0.000000002346' });
    await placeLimit(own, { ...order, side: 'buy', price: '0.000000002341' });
    await placeLimit(own, { market: LONG, side: 'buy', price: '10.25', size: '1' });
    const { page } = await open(`${stage.url}/trade/TINY_GIGA`, {
      width: 1280,
      height: 720,
      wallets: [wallet],
    });
    await bookState(page, 'live').waitFor();
    await tableNamed(page, 'Trades').getByText(TINY_PRICE).first().waitFor();
    expect(await cutIn(page, 'Trades')).to.deep.equal([]);
    expect(await cutIn(page, 'Order book')).to.deep.equal([]);
    await signIn(page, wallet);
    await cancelButton(page, 'buy 1234567000 TINY at 0.000000002341').waitFor();
    await page.getByRole('button', { name: 'Move buy 1234567000 TINY at 0.000000002341' }).click();
    const hidden = await tableNamed(page, 'Open orders').evaluate((table) => {
      const row = table.querySelector('.price-editor')!.closest('tr')!.previousElementSibling!;
      const cells = [...row.querySelectorAll('td')].filter(({ dataset }) =>
        ['Market', 'Side', 'Price', 'Size'].includes(dataset.of ?? ''),
      );
      return cells
        .filter((cell) => {
          const { left, top, width, height } = cell.getBoundingClientRect();
          return document.elementFromPoint(left + width / 2, top + height / 2)?.closest('td') !== cell;
        })
        .map(({ dataset }) => dataset.of);
    });
    expect(hidden, 'the order stays in sight while it is moved').to.deep.equal([]);
    await page.keyboard.press('Escape');
    await showTab(page, 'Results');
    const result = tableNamed(page, 'Results')
      .getByRole('row')
      .filter({ hasText: /sold without a purchase/ });
    const [row, frame, last] = await Promise.all([
      result.boundingBox(),
      tableNamed(page, 'Results').locator('..').boundingBox(),
      result.locator('td').last().boundingBox(),
    ]);
    expect(row!.height, 'a word on a market takes few lines').to.be.below(100);
    expect(last!.x + last!.width, 'its figures are in sight').to.be.at.most(frame!.x + frame!.width);
    await page.setViewportSize({ width: 390, height: 844 });
    await showTab(page, 'Open orders');
    expect(await cutIn(page, 'Open orders'), 'on a phone').to.deep.equal([]);
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.getByRole('button', { name: TINY, exact: true }).click();
    const names = page.getByRole('dialog').getByRole('table', { name: 'Markets' });
    await names.getByText(SYMBOL).waitFor();
    // A long name may be cut.
    for (const name of [SYMBOL, TINY]) {
      const cell = names
        .getByRole('rowheader')
        .filter({ has: page.getByRole('link', { name, exact: true }) });
      const isCut = await cell.evaluate((one) => one.scrollWidth > one.clientWidth);
      expect(isCut, name).to.equal(false);
    }
  });

  /** The longest names, with long figures. */
  async function openLongest(): Promise<{ wallet: ReturnType<typeof createWallet>; symbol: string }> {
    const base = 'LOOKATLONGNAME16';
    const quote = 'LOOKATLONGQUOTE2';
    const symbol = `${base}/${quote}`;
    await stage.market({ symbol, tickSize: '0.01', sizeStep: '0.0001' }, { [base]: 8, [quote]: 6 });
    const wallet = createWallet();
    const other = newWallet();
    for (const address of [wallet.addresses[0]!, other])
      await stage.credit(address, { [base]: '1000', [quote]: '1000000000' });
    const own = stage.as(wallet.addresses[0]!);
    const taker = stage.as(other);
    await placeLimit(own, { market: symbol, side: 'sell', price: '61234.56', size: '12.3456' });
    await placeLimit(taker, { market: symbol, side: 'buy', price: '61234.56', size: '2.3456' });
    await placeLimit(taker, { market: symbol, side: 'buy', price: '61234.55', size: '1.2345' });
    await placeLimit(own, { market: symbol, side: 'sell', price: '61234.55', size: '1.2345' });
    const { id } = await placeLimit(own, { market: symbol, side: 'buy', price: '51234.55', size: '1.2345' });
    await own('DELETE', `/v1/orders/${id}`);
    return { wallet, symbol };
  }

  /** Returns the texts of a table that are not within its panel, side by side. */
  const outsideOf = (page: Page, table: string): Promise<(string | null)[]> =>
    tableNamed(page, table).evaluate((element) => {
      const { left, right } = element.closest('.account-body')!.getBoundingClientRect();
      return [...element.querySelectorAll('th, td')]
        .filter((cell) => {
          const box = cell.getBoundingClientRect();
          return box.left < left || box.right > right;
        })
        .map(({ textContent }) => textContent);
    });

  /** Counts the lines of the heading of a table. */
  const linesOf = (page: Page, table: string): Promise<number> =>
    tableNamed(page, table)
      .locator('th')
      .evaluateAll((cells) => new Set(cells.map((cell) => cell.getBoundingClientRect().top)).size);

  browserTest('shows each column of the account with the longest names', async (open) => {
    const { wallet, symbol } = await openLongest();
    const { page } = await open(`${stage.url}/trade/${symbol.replace('/', '_')}`, {
      width: 1280,
      height: 720,
      wallets: [wallet],
    });
    await bookState(page, 'live').waitFor();
    await signIn(page, wallet);
    for (const name of ['Open orders', 'History', 'Fills', 'Results', 'Balances']) {
      await page.setViewportSize({ width: 1280, height: 720 });
      await showTab(page, name);
      await tableNamed(page, name).locator('tbody td').first().waitFor();
      expect(await outsideOf(page, name), name).to.deep.equal([]);
      expect(await cutIn(page, name, 'th, td'), name).to.deep.equal([]);
      await page.setViewportSize({ width: 2560, height: 1440 });
      await untilRead(
        () => linesOf(page, name),
        (lines) => lines === 1,
      );
    }
  });

  browserTest('writes figures from left to right in a document that runs the other way', async (open) => {
    const { page } = await open(stage.url);
    await firstMarket(page);
    expect(await reorderedWhenTurned(page)).to.deep.equal([]);
    await page.goto(url);
    await bookState(page, 'live').waitFor();
    for (const name of ['Price', 'Size']) await page.getByRole('textbox', { name, exact: true }).fill('2001');
    await page.getByText('Advanced', { exact: true }).click();
    await page.getByText(/^Buy 2001 LOOK at 2001 USDC/).waitFor();
    expect(await reorderedWhenTurned(page)).to.deep.equal([]);
  });

  const firstMarket = (page: Page): Promise<string | null> =>
    tableNamed(page, 'Markets').locator('tbody tr').first().getByRole('link').textContent();

  browserTest('puts favourites first, also after a reload', async (open) => {
    const { page } = await open(stage.url);
    const star = page.getByRole('button', { name: `Favourite ${SYMBOL}`, exact: true });
    await star.click();
    await untilRead(
      () => firstMarket(page),
      (first) => first === SYMBOL,
    );
    await page.reload();
    await star.waitFor();
    expect(await star.getAttribute('aria-pressed')).to.equal('true');
    expect(await firstMarket(page)).to.equal(SYMBOL);
    await star.click();
    expect(await star.getAttribute('aria-pressed')).to.equal('false');
  });

  browserTest('names each market on a phone', async (open) => {
    const { page } = await open(stage.url, { width: 390, height: 844 });
    const link = tableNamed(page, 'Markets').getByRole('link', { name: SYMBOL, exact: true });
    await link.waitFor();
    const [row, name] = await Promise.all([
      tableNamed(page, 'Markets').locator('tbody tr').first().boundingBox(),
      link.evaluate((element) => element.getClientRects().length),
    ]);
    expect(name, 'in one line').to.equal(1);
    expect(row!.height, 'two lines').to.be.below(100);
  });

  browserTest('draws the depth closer and farther, by buttons and by the wheel', async (open) => {
    const { page } = await open(url);
    await page.getByRole('button', { name: 'Depth', exact: true }).click();
    const drawing = page.getByRole('img', { name: /^Depth of LOOK\/USDC/ });
    /** Returns the lowest and the highest price that are drawn. */
    const edges = async (): Promise<[number, number]> => {
      const name = (await drawing.getAttribute('aria-label')) ?? '';
      const [, low, high] = /down to ([\d.]+),.* up to ([\d.]+)$/.exec(name) ?? [];
      return [Number(low), Number(high)];
    };
    const spread = async (): Promise<number> => {
      const [low, high] = await edges();
      return high - low;
    };
    await drawing.waitFor();
    const usual = await spread();
    await page.getByRole('button', { name: 'Closer to the mid' }).click();
    const closer = await untilRead(spread, (width) => width < usual);
    await page.getByRole('button', { name: 'Farther from the mid' }).click();
    await untilRead(spread, (width) => width > closer);
    await drawing.hover();
    await page.mouse.wheel(0, -100);
    await untilRead(spread, (width) => width < usual);
    await page.getByText(/^(bids|asks) to [\d.]+: /).waitFor();
  });

  browserTest(
    'prints black on white what can be read, and nothing that can only be pressed',
    async (open) => {
      const { page } = await open(url);
      await bookState(page, 'live').waitFor();
      const form = page.getByRole('textbox', { name: 'Price', exact: true });
      expect(await form.isVisible()).to.equal(true);
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      expect(await form.isVisible()).to.equal(false);
      expect(await tableNamed(page, 'Order book').isVisible()).to.equal(true);
      const ground = await page.evaluate(() =>
        getComputedStyle(document.documentElement).getPropertyValue('--ground').trim(),
      );
      expect(ground).to.equal('#ffffff');
      const clipped = await page.evaluate(
        () =>
          document.documentElement.scrollHeight > innerHeight || document.body.scrollHeight <= innerHeight,
      );
      expect(clipped, 'a long page is not cut to the window').to.equal(true);
    },
  );

  browserTest('shows what is chosen in the colours of the system', async (open) => {
    const { page } = await open(url);
    await page.emulateMedia({ forcedColors: 'active' });
    await bookState(page, 'live').waitFor();
    const groundOf = (name: string): Promise<string> =>
      page
        .getByRole('radio', { name, exact: true })
        .evaluate((radio) => getComputedStyle(radio.closest('label')!).backgroundColor);
    for (const [chosen, other] of [
      ['Buy side', 'Sell side'],
      ['Sell side', 'Buy side'],
      ['Limit', 'Market'],
    ] as const) {
      await page.getByRole('radio', { name: chosen, exact: true }).check();
      expect(await groundOf(chosen), chosen).to.not.equal(await groundOf(other));
    }
    const pressed = (name: string): Promise<string> =>
      page
        .getByRole('button', { name, exact: true })
        .evaluate((button) => getComputedStyle(button).backgroundColor);
    expect(await pressed('Candles')).to.not.equal(await pressed('Depth'));
  });
});
