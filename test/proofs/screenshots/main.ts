/**
 * `npm run proofs -- screenshots --folder F`: takes screenshots of the trading page and of the desk of operators in four
 * sizes, in both themes and in forced colours, in each of their views. It starts its own service. Look at the screenshots
 * after changing the page.
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
import { LONG, setScene, TINY } from './stage.ts';

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

type Take = (view: string) => Promise<void>;

const tickerOf = (symbol: string): string => symbol.replace('/', '_');

async function takeAccount(page: Page, take: Take): Promise<void> {
  for (const tab of ['History', 'Fills', 'Results', 'Balances']) {
    await page.getByRole('tab', { name: new RegExp(`^${tab}`) }).click();
    await take(tab.toLowerCase());
  }
  await page.getByRole('tab', { name: /^Open orders/ }).click();
}

async function takeMove(page: Page, take: Take): Promise<void> {
  await page
    .getByRole('button', { name: /^Move buy 2 ETH/ })
    .first()
    .click();
  const price = page.getByRole('textbox', { name: /price/i }).last();
  await price.fill('1994.5');
  await take('move-editor');
  await price.press('Enter');
  await page.getByRole('alertdialog').or(page.getByRole('dialog')).first().waitFor();
  await take('move-question');
  await page.keyboard.press('Escape');
}

async function takeMarket(page: Page, take: Take): Promise<void> {
  await page.getByRole('radio', { name: 'Buy side', exact: true }).check();
  await page.getByRole('textbox', { name: 'Price', exact: true }).fill('2000.25');
  await page.getByRole('textbox', { name: 'Size', exact: true }).fill('0.5');
  await take('signed-in');
  await takeAccount(page, take);
  await takeMove(page, take);
  await page.setViewportSize(SIZES[2]);
  await page.getByRole('button', { name: 'Depth', exact: true }).click();
  await take('depth');
}

async function takeOthers(page: Page, url: string, take: Take): Promise<void> {
  for (const [view, symbol] of [
    ['tiny', TINY],
    ['long', LONG],
    ['halted', 'BTC/USDC'],
  ] as const) {
    await page.setViewportSize(SIZES[2]);
    await page.goto(`${url}/trade/${tickerOf(symbol)}`);
    await page
      .getByText(/^live\b/)
      .first()
      .waitFor();
    await take(view);
  }
  await page.setViewportSize(SIZES[2]);
  await page.getByRole('button', { name: 'BTC/USDC', exact: true }).first().click();
  await page.getByRole('dialog').waitFor();
  await take('picker');
}

/** The views of the desk that show most. */
const DESK = ['Status', 'Markets', 'Acts', 'Books', 'Kill switch'];

async function takeDesk(page: Page, { url, key }: Desk, take: Take): Promise<void> {
  await page.setViewportSize(SIZES[2]);
  await page.goto(url);
  await page.getByLabel(/Key of/).fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Alerts' }).waitFor();
  for (const view of DESK) {
    await page.getByRole('navigation').getByRole('button', { name: view }).click();
    await page.getByText('Loading').first().waitFor({ state: 'detached' });
    await take(`desk-${view.toLowerCase().replace(' ', '-')}`);
  }
}

interface Desk {
  readonly url: string;
  readonly key: string;
}

async function takePictures(
  browser: Browser,
  url: string,
  desk: Desk,
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
    const take: Take = async (view) => {
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await page.waitForTimeout(300);
        const path = join(folder, `${view}-${size.width}-${look}.png`);
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
    await takeMarket(page, take);
    await takeOthers(page, url, take);
    await page.goto(url);
    await page.getByRole('table', { name: 'Markets' }).getByText('ETH/USDC').waitFor();
    await take('markets');
    await takeDesk(page, desk, take);
    await context.close();
  }
}

async function main(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const data = mkdtempSync(join(tmpdir(), 'redbook-screenshots-'));
  const ports = [await freePort(), await freePort()].map(String);
  const settings = { DATA_DIR: join(data, 'data'), PORT: ports[0]!, OPERATOR_PORT: ports[1]! };
  let service: Service | undefined;
  try {
    service = await startService('all', settings);
    const wallet = createWallet();
    const address = wallet.addresses[0]!;
    const session = await signIn(service.url, wallet.signer);
    const key = await setScene(service, settings, { address, call: session(service.url) });
    const desk = { url: `http://127.0.0.1:${settings.OPERATOR_PORT}/`, key };
    await takePictures(await sharedBrowser(), service.url, desk, wallet, folder);
  } finally {
    await closeSharedBrowser();
    await service?.end('SIGINT');
    rmSync(data, { recursive: true, force: true });
  }
}

const { folder } = readOptions(
  'npm run proofs -- screenshots',
  'Takes pictures of the trading page and of the desk.',
  {
    folder: ['folder of the pictures'],
  },
);
await main(folder ?? refuse('--folder must name the folder of the pictures'));
