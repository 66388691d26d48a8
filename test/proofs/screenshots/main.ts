/**
 * `npm run proofs -- screenshots --folder F`: takes screenshots of the trading page in four sizes, in both themes and in
 * forced colours, signed in and signed out. It starts its own service. Look at the screenshots after changing the page.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { closeSharedBrowser, KEEP_NAMES, sharedBrowser } from '../../browser/chromium.ts';
import { type BrowserWallet, createWallet, injectWallets } from '../../browser/wallets.ts';
import { freePort } from '../../support/ports.ts';
import { type Service, signIn, startService } from '../../support/service.ts';
import { readOptions, refuse } from '../command.ts';
import { setScene } from './stage.ts';

const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 720 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1440 },
] as const;
const LOOKS = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced', { colorScheme: 'dark', forcedColors: 'active' }],
] as const;

/** Waits until the book, the chart and the fonts are drawn. */
async function untilDrawn(page: Page): Promise<void> {
  await page
    .getByText(/^live\b/)
    .first()
    .waitFor();
  await page
    .getByRole('table', { name: 'Order book' })
    .getByRole('row')
    .nth(20)
    .waitFor({ state: 'attached' });
  await page.waitForTimeout(400);
}

async function signInAs(page: Page, wallet: BrowserWallet): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: wallet.info.name, exact: true }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor({ state: 'detached' });
  await page
    .getByRole('button', { name: /^Cancel buy/ })
    .first()
    .waitFor({ state: 'attached' });
}

async function takePictures(
  browser: Browser,
  url: string,
  wallet: BrowserWallet,
  folder: string,
): Promise<void> {
  for (const [look, colours] of LOOKS) {
    const context = await browser.newContext({
      ...colours,
      reducedMotion: 'reduce',
      locale: 'en-GB',
    });
    await context.addInitScript(KEEP_NAMES);
    await injectWallets(context, [wallet]);
    const page = await context.newPage();
    const take = async (name: string): Promise<void> => {
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await page.waitForTimeout(300);
        const path = join(folder, `${name}-${size.width}-${look}.png`);
        await page.screenshot({ path, fullPage: size.width < 1280 });
        console.log(path);
      }
    };
    await page.setViewportSize(SIZES[2]);
    await page.goto(`${url}/trade/ETH_USDC`);
    await untilDrawn(page);
    await take('signed-out');
    await page.setViewportSize(SIZES[2]);
    await signInAs(page, wallet);
    await page.getByRole('radio', { name: 'Buy side', exact: true }).check();
    await page.getByRole('textbox', { name: 'Price', exact: true }).fill('2000.25');
    await page.getByRole('textbox', { name: 'Size', exact: true }).fill('0.5');
    await take('signed-in');
    await page.goto(url);
    await page.getByRole('table', { name: 'Markets' }).getByText('ETH/USDC').waitFor();
    await take('markets');
    await context.close();
  }
}

async function main(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const data = mkdtempSync(join(tmpdir(), 'redbook-screenshots-'));
  const settings = { DATA_DIR: join(data, 'data'), PORT: String(await freePort()) };
  let service: Service | undefined;
  try {
    service = await startService('all', settings);
    const wallet = createWallet();
    const address = wallet.addresses[0]!;
    const session = await signIn(service.url, wallet.signer);
    await setScene(service, settings, { address, call: session(service.url) });
    await takePictures(await sharedBrowser(), service.url, wallet, folder);
  } finally {
    await closeSharedBrowser();
    await service?.end('SIGINT');
    rmSync(data, { recursive: true, force: true });
  }
}

const { folder } = readOptions('npm run proofs -- screenshots', 'Takes pictures of the trading page.', {
  folder: ['folder of the pictures'],
});
await main(folder ?? refuse('--folder must name the folder of the pictures'));
