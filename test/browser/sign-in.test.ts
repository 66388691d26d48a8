/** Tests signing in with browser wallets: each kind of answer of a wallet, and the page's message for it. */

import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { chooseWallet, expectSignedOut, signedInAs, signIn, untilRead } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';
import { type BrowserWallet, createWallet, emit, noSuchMethod, promptPending, refusal } from './wallets.ts';

const SYMBOL = 'SIGN/USDC';

/** Overrides a wallet's answer to one method. */
function answering(wallet: BrowserWallet, method: string, answer: () => unknown): BrowserWallet {
  wallet.override = async (called, params, usual) => (called === method ? answer() : usual(called, params));
  return wallet;
}

const throwing = (error: Error) => (): never => {
  throw error;
};

describe('signing in', () => {
  let stage: Stage;
  let url: string;
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: SYMBOL }, { SIGN: 8, USDC: 6 });
    url = `${stage.url}/trade/SIGN_USDC`;
  });

  browserTest('offers each wallet as text and pictures, and signs in with the chosen one', async (open) => {
    const script = 'document.title="owned"';
    const hostile = createWallet({
      name: `<img src=x onerror='${script}'>`,
      icon: `data:image/svg+xml,${encodeURIComponent(
        `<svg xmlns="http://www.w3.org/2000/svg" onload='${script}'><script>${script}</script></svg>`,
      )}`,
    });
    const scheme = createWallet({ name: 'Scheme', icon: `javascript:${script}` });
    const foreign = createWallet({ name: 'Foreign', icon: 'https://elsewhere.test/icon.png' });
    // Hardware wallets end a signature with 0 or 1.
    const hardware = createWallet({ name: 'Hardware', recoveryBase: 0, accounts: 2 });
    const { page } = await open(url, { wallets: [hostile, scheme, foreign, hardware] });
    await signIn(page, hardware);
    await signedInAs(page, hardware.addresses[0]!);
    expect(hostile.calls).to.deep.equal([]);
    expect(hardware.calls).to.include.members(['eth_requestAccounts', 'eth_signTypedData_v4']);
    await emit(page, hardware, 'accountsChanged', []);
    await page.getByText('Hardware is locked, or shows this page no account any more.').waitFor();
    await signedInAs(page, hardware.addresses[0]!);
    await emit(page, hardware, 'accountsChanged', [hardware.addresses[1]!.toLowerCase()]);
    await expectSignedOut(page);
    await signIn(page, hostile);
    await signedInAs(page, hostile.addresses[0]!);
    expect(await page.title()).to.not.equal('owned');
  });

  browserTest('signs in with a wallet that is only put into the page, as phone wallets are', async (open) => {
    const wallet = createWallet();
    const { page } = await open(url, { wallets: [wallet], isAnnounced: false, width: 390, height: 844 });
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Browser wallet', exact: true }).click();
    await signedInAs(page, wallet.addresses[0]!);
  });

  const FAULTS: Readonly<Record<string, readonly [method: string, answer: () => unknown, told: RegExp]>> = {
    'a refused signature': ['eth_signTypedData_v4', throwing(refusal()), /refused/i],
    'a prompt that is open already': ['eth_requestAccounts', throwing(promptPending()), /prompt is open/i],
    'a wallet that signs no typed data': [
      'eth_signTypedData_v4',
      throwing(noSuchMethod('eth_signTypedData_v4')),
      /typed data/i,
    ],
    'a locked wallet': ['eth_requestAccounts', () => [], /unlock/i],
  };
  const PERMIT = {
    domain: { name: 'USD Coin', version: '2', chainId: 1, verifyingContract: `0x${'a0'.repeat(20)}` },
    types: { Permit: [{ name: 'value', type: 'uint256' }] },
    primaryType: 'Permit',
    message: { value: '1' },
  };
  browserTest('says why a wallet did not sign, or signed for another, and tries again', async (open) => {
    const wallet = createWallet();
    const other = createWallet();
    const { page, tolerate } = await open(url, { wallets: [wallet] });
    tolerate(/status of 400/);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const choice = page.getByRole('button', { name: wallet.info.name, exact: true });
    for (const [fault, [method, answer, told]] of Object.entries(FAULTS)) {
      answering(wallet, method, answer);
      await choice.click();
      await untilRead(
        () => dialog.textContent(),
        (text) => told.test(text ?? ''),
      ).catch((error: Error) => {
        throw new Error(`${fault}: ${error.message}`);
      });
    }
    wallet.override = async (method, params, usual) =>
      method === 'eth_signTypedData_v4'
        ? other.answer(method, [other.addresses[0], ...params.slice(1)])
        : usual(method, params);
    await choice.click();
    await dialog.getByText(/the signature does not answer the current challenge/).waitFor();
    await expectSignedOut(page);
    // A wallet is asked for no signature but that of a login.
    wallet.override = undefined;
    wallet.calls.length = 0;
    const challenge = '**/v1/auth/challenge';
    await page.route(challenge, (route) => route.fulfill({ json: { typedData: PERMIT, expiresIn: '5m' } }));
    await choice.click();
    await dialog.getByText(/the challenge was not signed/).waitFor();
    expect(wallet.calls).to.deep.equal(['eth_requestAccounts']);
    await page.unroute(challenge);
    await choice.click();
    await signedInAs(page, wallet.addresses[0]!);
  });

  for (const hours of [-9, 9])
    browserTest(`waits for a slow wallet, by a clock that is wrong by ${hours} hours`, async (open) => {
      const wallet = createWallet();
      let release: () => void = () => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      wallet.override = async (method, params, usual) => {
        if (method === 'eth_signTypedData_v4') await released;
        return usual(method, params);
      };
      const { page } = await open(url, {
        wallets: [wallet],
        prepare: ({ page }) => page.clock.install({ time: Date.now() + hours * 3_600_000 }),
      });
      await chooseWallet(page, wallet);
      await page
        .getByText(/wallet/i)
        .first()
        .waitFor();
      await page.clock.fastForward(61_000);
      await expectSignedOut(page);
      release();
      await signedInAs(page, wallet.addresses[0]!);
    });

  browserTest(
    'forgets the session with the page, unless the reader asked to stay signed in, here or in all tabs',
    async (open) => {
      const wallet = createWallet();
      const { context, page } = await open(url, { wallets: [wallet] });
      await signIn(page, wallet);
      await page.reload();
      await expectSignedOut(page);
      expect(
        await page.evaluate(() => [...Object.values(sessionStorage), ...Object.values(localStorage)].join()),
      ).to.not.match(/eyJ/);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('checkbox', { name: /stay signed in/i }).check();
      await page.getByRole('button', { name: wallet.info.name, exact: true }).click();
      await signedInAs(page, wallet.addresses[0]!);
      await page.reload();
      await signedInAs(page, wallet.addresses[0]!);
      expect(await page.evaluate(() => Object.values(localStorage).join())).to.not.match(/eyJ/);
      const second = await context.newPage();
      await second.goto(url);
      await expectSignedOut(second);
      await page.bringToFront();
      await page.getByRole('button', { name: /^Wallet / }).click();
      await page.getByRole('checkbox', { name: /other tabs/i }).check();
      await signedInAs(second, wallet.addresses[0]!);
      await second.bringToFront();
      await second.getByRole('button', { name: 'Sign out', exact: true }).click();
      await expectSignedOut(page);
      expect(await page.evaluate(() => Object.values(localStorage).join())).to.not.match(/eyJ/);
    },
  );

  browserTest('leaves the end of a session to the service, whatever its clock is set to', async (open) => {
    const wallet = createWallet();
    const { page, tolerate } = await open(url, {
      wallets: [wallet],
      prepare: ({ page }) => page.clock.install(),
    });
    tolerate(/status of 401/);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('checkbox', { name: /stay signed in/i }).check();
    await page.getByRole('button', { name: wallet.info.name, exact: true }).click();
    await signedInAs(page, wallet.addresses[0]!);
    for (const hours of [9, -9]) {
      await page.clock.setSystemTime(Date.now() + hours * 3_600_000);
      await page.clock.runFor(12_000);
      await signedInAs(page, wallet.addresses[0]!);
      await page.reload();
      await signedInAs(page, wallet.addresses[0]!);
      await page.clock.runFor(12_000);
      await signedInAs(page, wallet.addresses[0]!);
    }
    const over = { status: 401, json: { code: 'UNAUTHORIZED', error: 'expired' } };
    await page.route('**/v1/orders**', (route) => route.fulfill(over));
    await page.route('**/v1/portfolio**', (route) => route.fulfill(over));
    await page.clock.runFor(12_000);
    await page.getByText(/The session has ended. Sign in again/).waitFor();
    await expectSignedOut(page);
  });

  browserTest('forgets only the session of its own tab, whatever another tab keeps', async (open) => {
    const one = createWallet({ name: 'One' });
    const other = createWallet({ name: 'Other' });
    const { context, page } = await open(url, {
      wallets: [one, other],
      prepare: ({ page }) => page.clock.install(),
    });
    const signInKept = async (tab: Page, wallet: BrowserWallet, tick: RegExp): Promise<void> => {
      await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
      await tab.getByRole('checkbox', { name: tick }).check();
      await tab.getByRole('button', { name: wallet.info.name, exact: true }).click();
      await signedInAs(tab, wallet.addresses[0]!);
    };
    await signInKept(page, one, /stay signed in/i);
    const second = await context.newPage();
    await second.goto(url);
    await second.getByRole('button', { name: 'Sign in', exact: true }).click();
    await second.getByRole('checkbox', { name: /stay signed in/i }).check();
    await second.getByRole('checkbox', { name: /other tabs/i }).check();
    await second.getByRole('button', { name: other.info.name, exact: true }).click();
    await signedInAs(second, other.addresses[0]!);
    // The first tab looks at its session again, and ends it.
    await page.clock.fastForward(6_000);
    await signedInAs(page, one.addresses[0]!);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await expectSignedOut(page);
    await second.reload();
    await signedInAs(second, other.addresses[0]!);
    // The first tab shares that session with its next visit, and keeps it when the second no longer does.
    await page.reload();
    await signedInAs(page, other.addresses[0]!);
    await second.getByRole('button', { name: /^Wallet / }).click();
    await second.getByRole('checkbox', { name: /other tabs/i }).uncheck();
    await second.keyboard.press('Escape');
    for (const tab of [second, page]) {
      await tab.reload();
      await signedInAs(tab, other.addresses[0]!);
    }
    expect(await page.evaluate(() => Object.values(localStorage).join())).to.not.match(/eyJ/);
  });
});
