/** Tests the page under a browser that replaces all of its text nodes: what is shown is what is sent. */

import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { newWallet, placeLimit, tickerOf } from './grids.ts';
import { bookState, cancelButton, columnOf, fillForm, readTable, signIn, untilRead } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
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

describe('a translated page', () => {
  let stage: Stage;
  before(async () => {
    stage = await sharedStage();
  });

  browserTest('shows the side, the size, the price and the balance that it sends', async (open) => {
    await stage.market({ symbol: SYMBOL }, { SWAP: 8, USDC: 6 });
    const wallet = createWallet();
    const [maker, taker] = [newWallet(), newWallet()];
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
      ...{ button: 'Buy', sentence: 'Buy 0.1 SWAP at 1990 USDC or better, until cancelled.' },
      ...{ available: 'Available 10000 USDC', spread: 'Mid 2000 Spread 2 0.1 %' },
    });
    await fillForm(page, { side: 'sell', price: '2010', size: '2' });
    await shows(page, {
      ...{ button: 'Sell', sentence: 'Sell 2 SWAP at 2010 USDC or better, until cancelled.' },
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
    await page.getByRole('button', { name: 'Sell', exact: true }).click();
    await page.getByRole('status').getByText('Sold 0.75 SWAP at 1999 on average').waitFor();
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
});
