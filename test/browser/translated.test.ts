/** Tests the page under a browser that replaces all of its text nodes: what is shown is what is sent. */

import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { newWallet, placeLimit, tickerOf } from './grids.ts';
import {
  bookState,
  cancelButton,
  columnOf,
  fillForm,
  hearing,
  readTable,
  showTab,
  signIn,
  untilHeard,
  untilRead,
} from './screen.ts';
import { type Rest, type Stage, sharedStage } from './stage.ts';
import { translated } from './translator.ts';
import { browserTest } from './visit.ts';
import { createWallet } from './wallets.ts';

const SYMBOL = 'SWAP/USDC';

/** Texts that a reader decides by, without the zeros that are only drawn. */
const facts = (page: Page) =>
  page.evaluate(() => {
    const textOf = (selector: string): string | undefined =>
      document.querySelector(selector)?.textContent?.replace(/\s+/g, ' ').trim();
    return {
      button: textOf('#order-form [type=submit]'),
      sentence: textOf('#order-sentence'),
      available: textOf('.available'),
      last: textOf('.last-price'),
      spread: textOf('.spread'),
      total: textOf('.figures dd'),
    };
  });

type Facts = Awaited<ReturnType<typeof facts>>;

const shows = (page: Page, wanted: Partial<Facts>): Promise<Facts> =>
  untilRead(
    () => facts(page),
    (shown) => Object.entries(wanted).every(([name, text]) => shown[name as keyof Facts] === text),
  );

/** Every text of a page, without spaces and what differs by the moment of reading. */
const wholeText = (page: Page): Promise<string> =>
  page.evaluate(() =>
    document
      .getElementById('page')!
      .textContent!.replaceAll(/\s/g, '')
      .replaceAll(/updated\d+\w+ago/g, ''),
  );

/** Steps of a reader on each view, by its name. */
const ACTS: readonly (readonly [name: string, act: (page: Page) => Promise<unknown>])[] = [
  ['a drafted buy', (page) => fillForm(page, { side: 'buy', type: 'Limit', price: '2001', size: '0.4' })],
  ['a drafted sell', (page) => fillForm(page, { side: 'sell', type: 'Limit', price: '1998.5', size: '3' })],
  ['a size that is too large', (page) => fillForm(page, { side: 'sell', type: 'Market', size: '300' })],
  ['a price off the grid', (page) => fillForm(page, { side: 'buy', type: 'Limit', price: '1.001' })],
  ['the choices', (page) => page.getByText('Advanced', { exact: true }).click()],
  ['figures of a country', (page) => page.getByLabel('Figures of books and tables').selectOption('grouped')],
  ['figures of the API', (page) => page.getByLabel('Figures of books and tables').selectOption('plain')],
  ['coarser levels', (page) => page.getByRole('combobox', { name: /group/i }).selectOption({ index: 2 })],
  ['finer levels', (page) => page.getByRole('combobox', { name: /group/i }).selectOption({ index: 0 })],
  ...['History', 'Fills', 'Results', 'Balances', 'Open orders'].map(
    (name) => [name, (page: Page) => showTab(page, name)] as const,
  ),
  ['sorted orders', (page) => page.getByRole('button', { name: 'Price', exact: true }).click()],
  ['filtered orders', (page) => page.getByRole('searchbox', { name: 'Filter the rows' }).fill('1990')],
  ['all orders', (page) => page.getByRole('searchbox', { name: 'Filter the rows' }).fill('')],
  [
    'the editor of an order',
    (page) => page.getByRole('button', { name: 'Move buy 0.5 TWIN at 1990' }).click(),
  ],
  ['a typed move', (page) => page.keyboard.type('1991')],
  ['the question of a move', (page) => page.keyboard.press('Enter')],
  ['an order that is not moved', (page) => page.keyboard.press('Escape')],
  ['the question of all', (page) => page.getByRole('button', { name: 'Cancel all markets' }).click()],
  ['orders that stay', (page) => page.keyboard.press('Escape')],
  ['a longer timeframe', (page) => page.getByRole('button', { name: '1h', exact: true }).click()],
  ['candles in figures', (page) => page.getByText(/^The last 30 candles/).click()],
  ['the depth', (page) => page.getByRole('button', { name: 'Depth', exact: true }).click()],
  ['the depth from near', (page) => page.getByRole('button', { name: 'Closer to the mid' }).click()],
  ['the candles', (page) => page.getByRole('button', { name: 'Candles', exact: true }).click()],
  ['the alerts', (page) => page.getByRole('button', { name: /^Price alerts/ }).click()],
  [
    'an alert',
    async (page) => {
      await page.getByLabel(/mark price of .* gets to/).fill('2100');
      await page.keyboard.press('Enter');
    },
  ],
  ['alerts that are closed', (page) => page.keyboard.press('Escape')],
  ['the keys', (page) => page.getByRole('button', { name: 'Keys' }).click()],
  ['keys that are closed', (page) => page.keyboard.press('Escape')],
  ['the wallet', (page) => page.getByRole('button', { name: /^Wallet 0x/ }).click()],
  ['a wallet that is closed', (page) => page.keyboard.press('Escape')],
  ['the markets', (page) => page.getByRole('button', { name: 'TWIN/USDC', exact: true }).click()],
  ['found markets', (page) => page.getByRole('dialog').getByRole('searchbox').fill('TWI')],
  ['markets that are closed', (page) => page.keyboard.press('Escape')],
];

describe('a translated page', () => {
  let stage: Stage;
  before(async () => {
    stage = await sharedStage();
  });

  browserTest('shows the side, the size, the price and the balance that it sends', async (open) => {
    await stage.market({ symbol: SYMBOL }, { SWAP: 8, USDC: 6 });
    const wallet = createWallet();
    const maker = newWallet();
    const taker = newWallet();
    for (const address of [maker, taker, wallet.addresses[0]!])
      await stage.credit(address, { SWAP: '10', USDC: '10000' });
    const quote = (side: 'buy' | 'sell', price: string, size: string) =>
      placeLimit(stage.as(maker), { market: SYMBOL, side, price, size });
    await quote('sell', '2001', '1');
    await quote('buy', '1999', '1');
    const rest = stage.as(wallet.addresses[0]!);
    const { page } = await open(`${stage.url}/trade/${tickerOf(SYMBOL)}`, {
      wallets: [wallet],
      prepare: ({ context }) => translated(context),
    });
    await bookState(page, 'live').waitFor();
    await signIn(page, wallet);
    await fillForm(page, { side: 'buy', type: 'Limit', price: '1990', size: '0.1' });
    await shows(page, {
      button: 'Buy',
      sentence: 'Buy 0.1 SWAP at 1990 USDC or better, until cancelled.',
      available: 'Available 10000 USDC',
      spread: 'Mid 2000 Spread 2 0.1 %',
    });
    await fillForm(page, { side: 'sell', price: '2010', size: '2' });
    await shows(page, {
      button: 'Sell',
      sentence: 'Sell 2 SWAP at 2010 USDC or better, until cancelled.',
      available: 'Available 10 SWAP',
    });
    await page.getByRole('button', { name: 'Sell', exact: true }).click();
    await cancelButton(page, 'sell 2 SWAP at 2010').waitFor();
    const [sent] = (await rest('GET', '/v1/orders?status=live')).body.orders;
    expect([sent.side, sent.size, sent.price]).to.deep.equal(['sell', '2', '2010']);
    await shows(page, { available: 'Available 8 SWAP', sentence: 'Sell SWAP: the order is not complete.' });
    // The book, the last price and the fills of others follow.
    await placeLimit(stage.as(taker), { market: SYMBOL, side: 'buy', price: '2001', size: '0.25' });
    await quote('sell', '2000.5', '0.5');
    await shows(page, { last: 'Last price 2001', spread: 'Mid 1999.75 Spread 1.5 0.075 %' });
    await fillForm(page, { side: 'sell', type: 'Market', size: '0.75' });
    const heard = await hearing(page);
    await page.getByRole('button', { name: 'Sell', exact: true }).click();
    await untilHeard(heard, 'Sold 0.75 SWAP at 1999 on average');
    await shows(page, { last: 'Last price 1999▼' });
    const book = (await rest('GET', `/v1/market-data/orderbook/${tickerOf(SYMBOL)}`)).body;
    await untilRead(
      async () => readTable(page, 'Order book'),
      (table) =>
        columnOf(table, /size/i).join() ===
        [...book.asks.toReversed(), ...book.bids].map(([, size]: string[]) => size).join(),
    );
    // A halt comes with the next frame, in its own words.
    await stage.engine.markets.change(SYMBOL, { status: 'halted' });
    await shows(page, { sentence: `${SYMBOL} is halted.` });
    await page.getByText(`${SYMBOL} is halted. You can cancel orders`).waitFor();
    await stage.engine.markets.change(SYMBOL, { status: 'active' });
    await shows(page, { sentence: 'Sell SWAP: the order is not complete.' });
  });

  browserTest('says on each view, and after each frame, what an untranslated one says', async (open) => {
    await stage.market({ symbol: 'TWIN/USDC' }, { TWIN: 8, USDC: 6 });
    const wallet = createWallet();
    const maker = newWallet();
    for (const address of [maker, wallet.addresses[0]!])
      await stage.credit(address, { TWIN: '100', USDC: '100000' });
    const own = stage.as(wallet.addresses[0]!);
    const rest = stage.as(maker);
    const place = (of: Rest, side: 'buy' | 'sell', price: string, size: string) =>
      placeLimit(of, { market: 'TWIN/USDC', side, price, size });
    for (const [side, price, size] of [
      ['sell', '2001', '1.5'],
      ['sell', '2001.55', '2'],
      ['buy', '1999', '1'],
      ['buy', '1998.25', '7'],
    ] as const)
      await place(rest, side, price, size);
    await place(own, 'buy', '2001', '0.25');
    await place(own, 'buy', '1990', '0.5');
    await place(own, 'sell', '2200', '1');
    await stage.settled();
    const address = `${stage.url}/trade/TWIN_USDC`;
    const [{ page: plain }, { page: changed }] = [
      await open(address, { wallets: [wallet] }),
      await open(address, { wallets: [wallet], prepare: ({ context }) => translated(context) }),
    ];
    const pages = [plain, changed];
    const agree = async (view: string): Promise<void> => {
      await untilRead(
        async () => ({ view, texts: await Promise.all(pages.map(wholeText)) }),
        ({ texts: [one, other] }) => one === other,
      );
    };
    for (const page of pages) {
      await bookState(page, 'live').waitFor();
      await signIn(page, wallet);
      await cancelButton(page, 'buy 0.5 TWIN at 1990').waitFor();
      await page.getByRole('button', { name: 'Close the message' }).click();
    }
    await agree('signed in');
    let level = 0;
    for (const [view, act] of ACTS) {
      for (const page of pages) await act(page);
      await agree(view);
      // The next frame shows another book, tape and mid.
      level += 1;
      await place(rest, 'sell', `2000.${10 + level}`, `0.${level}`);
      await place(rest, 'buy', `2000.${10 + level}`, `0.0${level}`);
      await agree(`${view}, with the next frame`);
    }
  });
});
