/** Tests the page's addresses, its size in bytes and its requests. */

import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { bookState } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';

/** Gzipped, without the demo wallet. */
const MAX_BYTES = 150 * 1024;

describe('addresses of the page', () => {
  let stage: Stage;
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: 'HOME/USDC' }, { HOME: 8, USDC: 6 });
  });

  browserTest('begin with the list of markets, which leads to a market', async (open) => {
    const { page } = await open(`${stage.url}/`);
    await page.getByRole('table', { name: 'Markets' }).getByText('HOME/USDC').click();
    await bookState(page, 'live').waitFor();
    expect(new URL(page.url()).pathname).to.equal('/trade/HOME_USDC');
    await page.goBack();
    await page.getByRole('table', { name: 'Markets' }).waitFor();
  });

  browserTest('answer 404 for an unknown market, with a page that says so', async (open) => {
    const { page, tolerate } = await open(`${stage.url}/trade/HOME_USDC`);
    tolerate(/status of 404/);
    const response = await page.goto(`${stage.url}/trade/NO_SUCH`);
    expect(response!.status()).to.equal(404);
    await page
      .getByText(/no market|unknown market|not a market/i)
      .first()
      .waitFor();
  });

  browserTest('load at most 150 KB, gzipped, of which nothing comes twice', async (open) => {
    const bodies: { url: string; body: Promise<Buffer> }[] = [];
    await open(`${stage.url}/trade/HOME_USDC`, {
      prepare: async ({ page }) => {
        page.on('response', (response) => {
          const type = response.request().resourceType();
          if (['document', 'script', 'stylesheet', 'image', 'font'].includes(type))
            bodies.push({ url: response.url(), body: response.body() });
        });
      },
    }).then(({ page }) => bookState(page, 'live').waitFor());
    const urls = bodies.map(({ url }) => url);
    expect(new Set(urls).size).to.equal(urls.length);
    const sizes = await Promise.all(
      bodies.map(async ({ body }) => gzipSync(await body, { level: 9 }).length),
    );
    expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).to.be.at.most(MAX_BYTES);
    expect(urls.length, urls.join(' ')).to.be.at.most(4);
  });
});
