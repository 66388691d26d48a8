/** Tests orders from the form: the estimated figures, refusals next to their fields, fills and cancels. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';
import { formatScaled, parseDecimal, toScaled } from '../../src/domain/units.ts';
import { GRIDS, type Grid, newWallet, placeLimit, tickerOf } from './grids.ts';
import {
  bookState,
  cancelButton,
  columnOf,
  type Draft,
  fillForm,
  hearing,
  readTable,
  setVisibility,
  showTab,
  signIn,
  submit,
  untilHeard,
  untilRead,
} from './screen.ts';
import { type Rest, type Stage, sharedStage } from './stage.ts';
import { translated } from './translator.ts';
import { browserTest, type Visit } from './visit.ts';
import { createWallet } from './wallets.ts';

type Figures = Readonly<Record<string, string>>;

/** Returns the figures in the form, by the first word of each term. */
const figuresOf = (page: Page): Promise<Figures> =>
  page
    .getByRole('region', { name: 'Place an order' })
    .locator('dl')
    .first()
    .evaluate((list) =>
      Object.fromEntries(
        [...list.querySelectorAll('dt')].map((term) => [
          /^\w+/.exec(term.textContent ?? '')![0],
          term.nextElementSibling?.textContent ?? '',
        ]),
      ),
    );

/** The sum of the fees of an order's fills, as a literal. */
const feeOf = (fills: readonly { readonly feeAmount: string }[], scale: number): string =>
  formatScaled(
    fills.reduce((sum, { feeAmount }) => sum + toScaled(parseDecimal(feeAmount)!, scale)!, 0n),
    scale,
  );

const availableOf = async (rest: Rest, wallet: string, asset: string): Promise<string> => {
  const { balances } = (await rest('GET', `/v1/portfolio/${wallet}`)).body;
  return balances.find((balance: Record<string, string>) => balance.asset === asset)?.available ?? '0';
};

/** Returns the grid with its own name and a size that fills two levels and leaves a rest. */
const own = (grid: Grid, large: string): Grid & { readonly large: string } => ({
  ...grid,
  large,
  symbol: `T${grid.symbol}`,
  scales: { ...grid.scales, [`T${grid.symbol.split('/')[0]}`]: Object.values(grid.scales)[0]! },
});

/**
 * Drags the line of an order in the chart, and looks at the other drawings.
 * @param take fills a part of the order
 */
async function dragOrder(
  page: Page,
  rest: Rest,
  market: string,
  take: (size: string) => Promise<unknown>,
): Promise<void> {
  const { id } = await placeLimit(rest, { market, side: 'buy', price: '2000', size: '0.1' });
  await showTab(page, 'Open orders');
  await cancelButton(page, `buy 0.1 ${market.split('/')[0]} at 2000`).waitFor();
  const chart = page.getByRole('region', { name: 'Chart' });
  await chart.getByRole('combobox', { name: 'Lines over the candles' }).selectOption('all');
  // A candle that comes with a later frame moves the scale of the prices.
  await chart.locator('.legend').getByText('2001').first().waitFor();
  const canvas = chart.getByRole('img', { name: /^Candles/ });
  const box = (await canvas.boundingBox())!;
  const x = box.x + box.width / 3;
  const isHeld = async (y: number): Promise<boolean> => {
    await page.mouse.move(x, y);
    // Chromium hands a move of the pointer to the page with the next frame.
    await canvas.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    return (await canvas.getAttribute('data-grab')) !== null;
  };
  let y = box.y;
  while (!(await isHeld(y)) && y < box.y + box.height) y += 8;
  expect(y, 'the line of the order is in the chart').to.be.below(box.y + box.height);
  await page.mouse.down();
  await page.mouse.move(x, y + 20);
  await page.mouse.move(x, y + 40);
  await page.mouse.up();
  const asked = page.getByRole('dialog');
  await asked.getByText(/^This cancels the order to buy 0\.1 \w+ at 2000 and places a new one/).waitFor();
  const hasLineAt = (clientY: number): Promise<boolean> =>
    canvas.evaluate((element, at) => {
      element.dispatchEvent(new PointerEvent('pointermove', { clientY: at }));
      return element.hasAttribute('data-grab');
    }, clientY);
  expect([await hasLineAt(y), await hasLineAt(y + 40)], 'the line stays where it was dropped').to.deep.equal([
    false,
    true,
  ]);
  await take('0.04');
  await asked.getByText(/Buy 0\.06 /).waitFor();
  await asked.getByRole('button', { name: 'Move it' }).click();
  const moved = await untilRead(
    async () => (await rest('GET', `/v1/orders/${id}`)).body.order,
    ({ reason }) => reason === 'replaced',
  );
  expect(moved.filledSize).to.equal('0.04');
  const [live] = (await rest('GET', '/v1/orders?status=live')).body.orders;
  expect(live.size).to.equal('0.06');
  expect(Number(live.price)).to.be.below(2000);
  await rest('DELETE', `/v1/orders/${live.id}`);
  await chart.getByRole('button', { name: 'Depth' }).click();
  await chart.getByRole('img', { name: /^Depth of .*: bids of [\d.]+ .* down to/ }).waitFor();
}

/** Sends orders under the id of an earlier one: another order is refused, and the same one is placed once. */
async function useIdTwice(page: Page, rest: Rest): Promise<void> {
  const earlier = { market: 'FORM/USDC', side: 'buy', type: 'limit', price: '1500', size: '0.01' };
  await rest('POST', '/v1/orders', { ...earlier, clientOrderId: 'mm-1' });
  const sent = page.getByRole('list', { name: 'Orders you sent' });
  const id = page.getByRole('textbox', { name: /client order id/i });
  const send = async (price: string, size: string): Promise<void> => {
    await fillForm(page, { side: 'buy', type: 'Limit', price, size });
    if (!(await id.isVisible())) await page.getByText('Advanced', { exact: true }).click();
    await id.fill('mm-1');
    await submit(page, 'buy');
  };
  await send('1990', '0.5');
  await sent
    .getByText(/this id stands for another order of .*: buy 0\.01 FORM at 1500, resting\. Nothing was placed/)
    .waitFor();
  expect(await id.getAttribute('aria-invalid')).to.equal('true');
  await id.fill('mm-2');
  expect(await id.getAttribute('aria-invalid')).to.equal('false');
  await send('1500.0', '0.0100');
  await sent.getByText(/answered in \d+ ms: resting/).waitFor();
  expect((await rest('GET', '/v1/orders?status=live')).body.orders).to.have.length(1);
}

describe('trading on the page', () => {
  let stage: Stage;
  before(async () => {
    stage = await sharedStage();
  });

  /** Quotes both sides of a new market. @returns a funded wallet for the page */
  async function openMarket(grid: Grid) {
    const { symbol, tickSize, sizeStep, size, asks, bids } = grid;
    await stage.market({ symbol, tickSize, sizeStep }, grid.scales);
    const [base, quote] = symbol.split('/') as [string, string];
    const funds = { [base]: Object.values(grid.funds)[0]!, [quote]: Object.values(grid.funds)[1]! };
    const wallet = createWallet();
    const maker = newWallet();
    for (const address of [maker, wallet.addresses[0]!]) await stage.credit(address, funds);
    const rest = stage.as(maker);
    for (const price of asks) await placeLimit(rest, { market: symbol, side: 'sell', price, size });
    for (const price of bids) await placeLimit(rest, { market: symbol, side: 'buy', price, size });
    return { wallet, base, quote, url: `${stage.url}/trade/${tickerOf(symbol)}` };
  }

  for (const grid of [own(GRIDS[0]!, '3703701'), own(GRIDS[2]!, '0.000000021')])
    browserTest(`shows before an order, to the atom, what it then does: ${grid.symbol}`, async (open) => {
      const { wallet, base, quote, url } = await openMarket(grid);
      const address = wallet.addresses[0]!;
      const rest = stage.as(address);
      const choices = { 'ask-limit': 'never', 'ask-market': 'never' };
      const prepare = ({ context }: Visit) => translated(context);
      const { page } = await open(url, { wallets: [wallet], choices, prepare });
      await bookState(page, 'live').waitFor();
      await signIn(page, wallet);
      const drafts: readonly (Draft & { readonly paid: string })[] = [
        { side: 'buy', type: 'Limit', price: grid.asks[1]!, size: grid.large, paid: quote },
        { side: 'sell', type: 'Market', size: grid.sizeStep, paid: base },
        { side: 'buy', type: 'Market', size: '', amount: '7.5', paid: quote },
      ];
      for (const { paid, ...draft } of drafts) {
        const before = await availableOf(rest, address, paid);
        const book = (await rest('GET', `/v1/market-data/orderbook/${tickerOf(grid.symbol)}`)).body;
        const levels = [...book.asks.toReversed(), ...book.bids].map(([price]: string[]) => price);
        await untilRead(
          async () => columnOf(await readTable(page, 'Order book'), /price/i),
          (prices) => prices.join() === levels.join(),
        );
        await fillForm(page, draft);
        await page.getByText(`Available ${before} ${paid}`).first().waitFor();
        const shown = await figuresOf(page);
        await submit(page, draft.side);
        const { order } = await untilRead(
          async () => ({ order: (await rest('GET', '/v1/orders?limit=1')).body.orders[0] }),
          ({ order }) =>
            order?.side === draft.side && (order.timeInForce === 'IOC') === (draft.type === 'Market'),
        );
        const quoteScale = grid.scales[quote]!;
        expect(shown.Fee, JSON.stringify(draft)).to.equal(`${feeOf(order.fills, quoteScale)} ${quote}`);
        expect(shown.Available).to.equal(`${await availableOf(rest, address, paid)} ${paid}`);
        await page
          .getByText(/answered in/i)
          .first()
          .waitFor();
        // The estimated figures ignore the effect of the market's self-trade policy.
        for (const live of (await rest('GET', '/v1/orders?status=live')).body.orders) {
          const cancel = cancelButton(page, `buy ${live.remainingSize} ${base} at ${live.price}`);
          await cancel.click();
          await cancel.waitFor({ state: 'detached' });
        }
      }
      await stage.settled();
      await showTab(page, 'Fills');
      const { trades } = (await rest('GET', '/v1/trades')).body;
      const fees = await untilRead(
        async () => columnOf(await readTable(page, 'Fills'), /fee/i),
        (column) => column.length === trades.length,
      );
      expect(fees.map((fee) => fee.split(' ')[0])).to.deep.equal(
        trades.map(({ feeAmount }: Record<string, string>) => feeAmount),
      );
      await page.getByRole('checkbox', { name: `Only ${grid.symbol}` }).check();
      expect(columnOf(await readTable(page, 'Fills'), /fee/i)).to.have.length(trades.length);
      await page.getByRole('button', { name: 'Size', exact: true }).click();
      const sizes = columnOf(await readTable(page, 'Fills'), /size/i);
      expect(sizes).to.deep.equal(sizes.toSorted((one, other) => Number(one) - Number(other)));
      await page.getByRole('searchbox', { name: 'Filter the rows' }).fill('sell');
      const sold = trades.filter(({ side }: Record<string, string>) => side === 'sell');
      expect(columnOf(await readTable(page, 'Fills'), /fee/i)).to.have.length(sold.length);
      await page.getByRole('searchbox', { name: 'Filter the rows' }).fill('');
      await showTab(page, 'Results');
      expect(columnOf(await readTable(page, 'Results'), /market/i)[0]).to.match(
        new RegExp(`^${grid.symbol}`),
      );
      await showTab(page, 'Balances');
      const { equity } = (await rest('GET', `/v1/portfolio/${address}`)).body;
      await page.getByText(`Worth ${equity}`).waitFor();
    });

  browserTest(
    'refuses beside the field, cancels one or all, and tells a used id from a new one',
    async (open) => {
      const grid: Grid = {
        symbol: 'FORM/USDC',
        tickSize: '0.01',
        sizeStep: '0.0001',
        scales: { FORM: 8, USDC: 6 },
        price: '2000',
        asks: ['2001'],
        bids: ['1999'],
        size: '1',
        funds: { FORM: '10', USDC: '10000' },
      };
      const { wallet, url } = await openMarket(grid);
      const { page, tolerate } = await open(url, { wallets: [wallet] });
      tolerate(/status of 400/);
      await signIn(page, wallet);
      const price = page.getByRole('textbox', { name: 'Price', exact: true });
      const size = page.getByRole('textbox', { name: 'Size', exact: true });
      await fillForm(page, { side: 'buy', price: '1990.005', size: '0.5' });
      await submit(page, 'buy');
      await untilRead(
        () => price.getAttribute('aria-invalid'),
        (value) => value === 'true',
      );
      await fillForm(page, { side: 'buy', price: '1990.05', size: '50' });
      await submit(page, 'buy');
      await untilRead(
        () => size.getAttribute('aria-invalid'),
        (value) => value === 'true',
      );
      await page.getByText(/refused, what is available does not cover the order/).waitFor();
      expect((await stage.as(wallet.addresses[0])('GET', '/v1/orders')).body.orders).to.deep.equal([]);
      for (const one of ['1990.05', '1980', '1970.5']) {
        await fillForm(page, { side: 'buy', price: one, size: '0.5' });
        await submit(page, 'buy');
        await cancelButton(page, `buy 0.5 FORM at ${one}`).waitFor();
      }
      await cancelButton(page, 'buy 0.5 FORM at 1980').click();
      await cancelButton(page, 'buy 0.5 FORM at 1980').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Cancel all FORM/USDC' }).click();
      await page.getByRole('button', { name: 'Cancel them' }).click();
      await cancelButton(page, 'buy 0.5 FORM at 1970.5').waitFor({ state: 'detached' });
      const { orders } = (await stage.as(wallet.addresses[0])('GET', '/v1/orders')).body;
      expect(orders.map(({ status }: Record<string, string>) => status)).to.deep.equal(
        Array(3).fill('cancelled'),
      );
      await showTab(page, 'History');
      await untilRead(
        async () => columnOf(await readTable(page, 'History'), /status/i),
        (shown) => shown.filter((text) => text === 'cancelled: you cancelled it').length === 3,
      );
      await useIdTwice(page, stage.as(wallet.addresses[0]!));
    },
  );

  const MIDDLE = {
    tickSize: '0.01',
    sizeStep: '0.0001',
    price: '2000',
    asks: ['2001'],
    bids: ['1999'],
    size: '1',
  };

  browserTest('moves what is left of an order when the question is answered', async (open) => {
    const funds = { LEFT: '10', USDC: '100000' };
    const grid: Grid = { ...MIDDLE, symbol: 'LEFT/USDC', scales: { LEFT: 8, USDC: 6 }, funds };
    const { wallet, url } = await openMarket({ ...grid, asks: ['2050'], bids: ['1900'] });
    const rest = stage.as(wallet.addresses[0]!);
    const taker = newWallet();
    await stage.credit(taker, funds);
    const take = (price: string, size: string) =>
      placeLimit(stage.as(taker), { market: grid.symbol, side: 'buy', price, size });
    await placeLimit(rest, { market: grid.symbol, side: 'sell', price: '2010', size: '1' });
    const prepare = ({ context }: Visit) => translated(context);
    const { page, tolerate } = await open(url, { wallets: [wallet], prepare });
    await bookState(page, 'live').waitFor();
    await signIn(page, wallet);
    const asked = page.getByRole('dialog');
    const openEditor = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: `Move ${name}` }).press('Enter');
      await page.getByRole('textbox', { name: `New price of ${name}` }).waitFor();
    };
    const live = async (): Promise<string[]> =>
      (await rest('GET', '/v1/orders?status=live')).body.orders.map(
        ({ size, price }: Record<string, string>) => `${size} at ${price}`,
      );
    await openEditor('sell 1 LEFT at 2010');
    await page.keyboard.type('2009');
    await page.keyboard.press('Enter');
    await asked.getByText(/^This cancels the order to sell 1 LEFT at 2010 and places/).waitFor();
    await asked.getByText(/Sell 1 LEFT at 2009/).waitFor();
    await take('2010', '0.4');
    await asked.getByText(/Sell 0\.6 LEFT at 2009/).waitFor();
    await asked.getByRole('button', { name: 'Move it' }).click();
    await cancelButton(page, 'sell 0.6 LEFT at 2009').waitFor();
    expect(await live()).to.deep.equal(['0.6 at 2009']);
    // A fill that meets the move on its way is refused there, and asked about again.
    tolerate(/status of 409/);
    const onTheWay = async (route: Route): Promise<void> => {
      await take('2009', '0.1');
      await route.continue();
    };
    await page.route('**/v1/orders/replace', onTheWay, { times: 1 });
    await openEditor('sell 0.6 LEFT at 2009');
    await page.keyboard.type('2009.5');
    await page.keyboard.press('Enter');
    await asked.getByText(/Sell 0\.6 LEFT at 2009\.5/).waitFor();
    await asked.getByRole('button', { name: 'Move it' }).click();
    await asked.getByText(/Sell 0\.5 LEFT at 2009\.5/).waitFor();
    await asked.getByRole('button', { name: 'Move it' }).click();
    await cancelButton(page, 'sell 0.5 LEFT at 2009.5').waitFor();
    expect(await live()).to.deep.equal(['0.5 at 2009.5']);
    // A typed size is the size of the order that was seen: what is filled meanwhile is taken off.
    await openEditor('sell 0.5 LEFT at 2009.5');
    await page.getByRole('textbox', { name: 'New size of sell 0.5 LEFT at 2009.5' }).fill('0.4');
    const heard = await hearing(page);
    await take('2009.5', '0.2');
    await untilRead(
      () => heard('Sold 0.2 LEFT at 2009.5'),
      (count) => count > 0,
    );
    await page.keyboard.press('Enter');
    await asked.getByText(/Sell 0\.2 LEFT at 2009\.5/).waitFor();
    await asked.getByRole('button', { name: 'Move it' }).click();
    await cancelButton(page, 'sell 0.2 LEFT at 2009.5').waitFor();
    expect(await live()).to.deep.equal(['0.2 at 2009.5']);
    // An order that ends takes its question with it.
    await openEditor('sell 0.2 LEFT at 2009.5');
    await page.keyboard.type('2008');
    await page.keyboard.press('Enter');
    await asked.getByText(/Sell 0\.2 LEFT at 2008/).waitFor();
    await take('2009.5', '0.2');
    await asked.waitFor({ state: 'detached' });
    await untilRead(
      () => heard('Not moved: the order to sell 0.2 LEFT at 2009.5 has ended.'),
      (count) => count > 0,
    );
    expect(await live()).to.deep.equal([]);
  });

  browserTest('reaches no bait at a far price unasked, not by Enter either', async (open) => {
    const funds = { BAIT: '10', USDC: '100000' };
    const grid: Grid = { ...MIDDLE, symbol: 'BAIT/USDC', scales: { BAIT: 8, USDC: 6 }, funds };
    const { wallet, url } = await openMarket({ ...grid, bids: ['1999', '0.01'] });
    const { page } = await open(url, { wallets: [wallet] });
    await bookState(page, 'live').waitFor();
    await signIn(page, wallet);
    const rest = stage.as(wallet.addresses[0]!);
    const question = page.getByRole('dialog');
    const size = page.getByRole('textbox', { name: 'Size', exact: true });
    await fillForm(page, { side: 'sell', type: 'Market', size: '1.0001' });
    await page.getByText(/Impact 0\.05 %, worst 99\.99 %: very high/).waitFor();
    await size.press('Enter');
    await question
      .getByText(/The mid is 2000\. The fills shown average about 1998\.\d+, 0\.05 % below it/)
      .waitFor();
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    expect((await rest('GET', '/v1/orders')).body.orders).to.deep.equal([]);
    await size.fill('1');
    await size.press('Enter');
    await page
      .getByText(/Sold 1 BAIT at 1999 on average for 1999 USDC − 1\.999 fee/)
      .first()
      .waitFor();
    const [order] = (await rest('GET', '/v1/orders')).body.orders;
    expect([order.type, order.timeInForce, order.price]).to.deep.equal(['limit', 'IOC', '1979.01']);
    await fillForm(page, { side: 'buy', type: 'Limit', price: '20010', size: '0.1' });
    await submit(page, 'buy');
    await question.getByRole('button', { name: 'Buy at a loss', exact: true }).click();
    await page
      .getByText(/Bought 0\.1 BAIT at 2001 on average for 200\.1 USDC \+ 0\.2001 fee/)
      .first()
      .waitFor();
  });

  browserTest(
    'keeps the button on the screen, the draft of each market, and its word on sizes',
    async (open) => {
      const funds = { STILL: '10', USDC: '100000' };
      const grid: Grid = { ...MIDDLE, symbol: 'STILL/USDC', scales: { STILL: 8, USDC: 6 }, funds };
      const { wallet, url } = await openMarket({ ...grid, asks: ['2001', '2002.5'] });
      await openMarket({
        ...grid,
        symbol: 'OTHER/USDC',
        scales: { OTHER: 8, USDC: 6 },
        funds: { OTHER: '10', USDC: '100000' },
      });
      const { page } = await open(url, { wallets: [wallet] });
      await bookState(page, 'live').waitFor();
      await signIn(page, wallet);
      const [price, size, amount] = ['Price', 'Size', 'Amount'].map((name) =>
        page.getByRole('textbox', { name, exact: true }),
      );
      await page.getByRole('button', { name: 'Set the price to the mid of the book' }).click();
      expect(await price!.inputValue()).to.equal('2000');
      // A click on a total takes the sum up to its row.
      await page.getByRole('row', { name: '2002.5 1 2' }).getByRole('cell').nth(3).click();
      expect([await price!.inputValue(), await size!.inputValue()]).to.deep.equal(['2002.5', '2']);
      expect(await amount!.getAttribute('placeholder')).to.equal('4003.5');
      // The slider takes a part of the 100,000 that are available, for a market order too.
      await page.getByRole('slider').fill('2');
      expect(await size!.inputValue()).to.equal('0.9985');
      await page.getByRole('radio', { name: 'Market', exact: true }).check();
      await page.getByRole('slider').fill('1');
      expect(await size!.inputValue()).to.equal('0.4992');
      await page.getByRole('radio', { name: 'Limit', exact: true }).check();
      await amount!.fill('1,000.50');
      expect(await size!.getAttribute('placeholder')).to.equal('0.4996');
      await page.getByText('0.9997 USDC').waitFor();
      const button = page.getByRole('button', { name: 'Buy', exact: true });
      for (const [width, height] of [
        [1280, 720],
        [1366, 768],
        [390, 740],
        [360, 640],
      ] as const) {
        await page.setViewportSize({ width, height });
        await page.evaluate(() => scrollTo(0, 0));
        const box = (await button.boundingBox())!;
        expect(box.y + box.height, `${width}x${height}`).to.be.below(height);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).to.be.at.most(0);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      const tooHigh = () => page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
      await untilRead(tooHigh, (pixels) => pixels <= 0);
      expect(await page.getByText(/^24 h volume/).allTextContents()).to.deep.equal([
        '24 h volume (STILL)',
        '24 h volume (USDC)',
      ]);
      await page.setViewportSize({ width: 1280, height: 800 });
      await page
        .getByRole('button', { name: /STILL\/USDC/ })
        .first()
        .click();
      await page.getByRole('dialog').getByText('OTHER/USDC').click();
      await untilRead(
        () => amount!.inputValue(),
        (text) => text === '',
      );
      await page.goBack();
      await untilRead(
        () => amount!.inputValue(),
        (text) => text === '1,000.50',
      );
      await page.reload();
      await untilRead(
        () => amount!.inputValue(),
        (text) => text === '1,000.50',
      );
    },
  );

  browserTest(
    'tells fills and endings once in each tab, hidden or not, by one waiting request',
    async (open) => {
      const funds = { TELL: '10', USDC: '100000' };
      const grid: Grid = { ...MIDDLE, symbol: 'TELL/USDC', scales: { TELL: 8, USDC: 6 }, funds };
      const { wallet, url } = await openMarket(grid);
      const rest = stage.as(wallet.addresses[0]!);
      const taker = newWallet();
      await stage.credit(taker, funds);
      const sell = (size: string) =>
        placeLimit(stage.as(taker), { market: grid.symbol, side: 'sell', price: '1999.5', size });
      const { page, context } = await open(url, { wallets: [wallet] });
      await bookState(page, 'live').waitFor();
      await signIn(page, wallet);
      const other = await context.newPage();
      const waits: string[] = [];
      other.on('request', (request) => {
        if (request.url().includes('/v1/orders/changes?')) waits.push(request.url());
      });
      await other.goto(url);
      await signIn(other, wallet);
      // Chromium draws a tab behind another one once a second.
      await page.bringToFront();
      const heard = await hearing(page);
      const otherHeard = await hearing(other);
      await fillForm(page, { side: 'buy', type: 'Limit', price: '1999.5', size: '1' });
      await submit(page, 'buy');
      await cancelButton(page, 'buy 1 TELL at 1999.5').waitFor();
      await sell('0.4');
      await untilHeard(heard, 'Bought 0.4 TELL at 1999.5 on average for 799.8 USDC.');
      const sent = page.getByRole('list', { name: 'Orders you sent' });
      await sent.getByText('Bought 0.4 TELL at 1999.5 on average for 799.8 USDC, resting 0.6').waitFor();
      await page.getByRole('tab', { name: 'Fills 1 new' }).waitFor();
      await untilRead(
        () => page.title(),
        (title) => title.startsWith('(1) 1999.5 · '),
      );
      await setVisibility(page, 'hidden');
      await sell('0.6');
      const whole = 'Bought 1 TELL at 1999.5 on average for 1999.5 USDC';
      await untilHeard(heard, `Your order to buy 1 TELL at 1999.5 is filled: ${whole}.`);
      expect(await page.title()).to.equal('(2) TELL/USDC · Redbook');
      await setVisibility(page, 'visible');
      await sent.getByText(whole).waitFor();
      const { id } = await placeLimit(rest, { market: grid.symbol, side: 'buy', price: '1500', size: '1' });
      await cancelButton(page, 'buy 1 TELL at 1500').waitFor();
      await rest('DELETE', `/v1/orders/${id}`);
      await untilHeard(heard, 'Your order to buy 1 TELL at 1500 has ended: cancelled: you');
      await page.getByRole('button', { name: 'Close the message' }).click();
      await showTab(page, 'History');
      const history = await untilRead(
        () => readTable(page, 'History'),
        ({ rows }) => rows.length === 2,
      );
      expect(columnOf(history, /average/i)).to.deep.equal(['–', '1999.5']);
      await page.getByRole('button', { name: '1: fills of the order to buy 1 TELL/USDC' }).click();
      await page.getByText(/0\.4 at 1999\.5, fee 0/).waitFor();
      await stage.settled();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download CSV' }).click(),
      ]);
      expect(file.suggestedFilename()).to.match(/^statement-.*\.csv$/);
      const [mark, ...letters] = readFileSync(await file.path(), 'utf8');
      expect(mark).to.equal('\ufeff');
      const lines = letters.join('').split(/\r?\n/);
      expect(lines.filter((line) => line.includes(',trade,TELL,'))).to.have.length(2);
      expect(lines.filter((line) => line.startsWith('time,'))).to.have.length(1);
      for (const one of [heard, otherHeard]) {
        expect(await one('Bought 0.4 TELL at 1999.5 on average for 799.8 USDC.')).to.equal(1);
        expect(await one(`is filled: ${whole}.`)).to.equal(1);
        expect(await one('Your order to buy 1 TELL at 1500 has ended')).to.equal(1);
      }
      // The fills that the answer of an order tells are no news in the tab that sent it.
      await setVisibility(other, 'visible');
      await fillForm(page, { side: 'buy', type: 'Limit', price: '2001', size: '0.2' });
      await submit(page, 'buy');
      await untilHeard(otherHeard, 'Bought 0.2 TELL at 2001 on average');
      const placed = 'Bought 0.2 TELL at 2001 on average for 400.2 USDC + 0.4002 fee. ';
      await untilHeard(heard, placed);
      expect(await heard(placed)).to.equal(1);
      expect(waits).to.deep.equal([]);
      await dragOrder(page, rest, grid.symbol, sell);
      // The tab that stays goes on from where the closed one was.
      await placeLimit(rest, { market: grid.symbol, side: 'buy', price: '1999.5', size: '0.3' });
      await cancelButton(other, 'buy 0.3 TELL at 1999.5').waitFor();
      await Promise.all([page.close(), sell('0.3')]);
      await untilHeard(otherHeard, 'is filled: Bought 0.3 TELL');
      expect(await otherHeard('is filled: Bought 0.3 TELL')).to.equal(1);
    },
  );
});
