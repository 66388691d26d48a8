/** Tests a rolling upgrade in which a replica of one release is asked for files of another. */

import { expect } from 'chai';
import { bookState, offerDemo } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';

describe('a page whose files come from another release', () => {
  let stage: Stage;
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: 'ROLL/USDC' }, { ROLL: 8, USDC: 6 });
  });

  browserTest('works, its demo wallet included, and no cache keeps the files', async (open) => {
    const replies = new Map<string, string | undefined>();
    const { page } = await open(`${stage.url}/trade/ROLL_USDC`, {
      prepare: async ({ context, page }) => {
        page.on('response', (response) => {
          const [, name] = /\/web\/([^?]+)/.exec(response.url()) ?? [];
          if (name !== undefined) replies.set(name, response.headers()['cache-control']);
        });
        await page.route('**/web/*', (route) =>
          route.continue({
            url: route
              .request()
              .url()
              .replace(/\?v=.*/, '?v=of-another-release'),
          }),
        );
        await offerDemo(context);
      },
    });
    await bookState(page, 'live').waitFor();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Demo wallet' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(Object.fromEntries(replies)).to.deep.equal({
      'main.js': 'no-store',
      'style.css': 'no-store',
      'demo-wallet.js': 'no-store',
      'icon.svg': 'no-store',
    });
  });
});
