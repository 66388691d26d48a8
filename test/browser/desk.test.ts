/** Tests the desk of operators in Chromium: sign-in, each view, each kind of act, the keyboard, and axe's rules. */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { closeMonth } from '../../src/books/closing.ts';
import { createKey } from '../../src/books/operator-keys.ts';
import { endWithdrawal } from '../../src/books/withdrawals.ts';
import { OPERATOR_RIGHTS } from '../../src/domain/operator-rights.ts';
import { createOperatorApp } from '../../src/http/operator/app.ts';
import { openMetrics } from '../../src/process/metrics.ts';
import { eventually } from '../support/eventually.ts';
import { overflowOf, RULES_OF_THEMES, violationsOf } from './axe.ts';
import { newWallet, placeLimit } from './grids.ts';
import { reorderedWhenTurned } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { translated } from './translator.ts';
import { browserTest } from './visit.ts';

const SYMBOL = 'DESK/USDC';
const VIEWS = [
  'Status',
  'Markets',
  'Wallet',
  'Withdrawals',
  'Approvals',
  'Acts',
  'Books',
  'Reports',
  'More',
  'Kill switch',
];
const ACT = { by: 'a test', reason: 'set up' };
/** As wide as a reference gets: 256 characters. */
const LEFT_OPEN = 'left open '.padEnd(256, 'W');
/** Without its second character, it reads as another number. */
const TURNED = 'a\u202e123';
const TURNED_SHOWN = 'a\\u{202e}123';

describe('the desk of operators', () => {
  let stage: Stage;
  let url: string;
  let key: string;
  let end: () => void;
  const wallet = newWallet();
  /** Has more lines in its statement than a page. */
  const busy = newWallet();

  before(async () => {
    stage = await sharedStage();
    const { engine, ledger } = stage;
    await stage.market({ symbol: SYMBOL }, { DESK: 8, USDC: 6 });
    await stage.credit(wallet, { DESK: '10', USDC: '5000' });
    await placeLimit(stage.as(wallet), { market: SYMBOL, side: 'buy', price: '10.5', size: '2' });
    for (const reference of ['paid later', 'sent back', TURNED, LEFT_OPEN])
      await engine.funds.move({
        kind: 'requested',
        wallet,
        asset: 'USDC',
        amountAtoms: 7_500_000n,
        reference,
      });
    key = await createKey(stage, { name: 'desk', rights: OPERATOR_RIGHTS, caps: new Map() }, ACT);
    for (let at = 0; at < 260; at += 1) await stage.credit(busy, { DESK: '1' });
    await wait('asker', 60);
    await wait('desk', 1);
    await stage.settled();
    await closeMonth(stage, '2020-01', { isEmpty: true, patienceMs: 10_000 }, ACT);
    await ledger.checks.noteReconcile({ sequence: 7, checks: 2, differences: 3, failedChecks: ['supply'] }, [
      { name: 'epochs rise', asset: null, compared: 'up to event 7', differences: 0 },
      { name: 'supply', asset: 'USDC', compared: '4 accounts', differences: 3 },
    ]);
    const logger = pino({ level: 'silent' });
    const metrics = openMetrics();
    const app = createOperatorApp({
      engine,
      ledger,
      logger,
      metrics,
      networkId: '1',
      serviceName: 'Redbook',
      ready: async () => ({ ready: true, checks: {} }),
      wakeSettlement: () => undefined,
    });
    const server = createServer(app).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    end = () => {
      server.close();
      server.closeAllConnections();
    };
  });
  after(async () => {
    end();
    // The other pages of the stage warn of differences.
    await stage.ledger.checks.noteReconcile({ sequence: 8, checks: 0, differences: 0, failedChecks: [] });
  });

  /** Makes deposits of a key wait for the approval of another one. */
  const wait = async (asker: string, count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      const deposit = { kind: 'credited', wallet, asset: 'USDC', amountAtoms: 20_000_000_000n } as const;
      const reference = count === 1 ? `${asker} ${at} `.padEnd(256, 'W') : `${asker} ${at}`;
      await stage.ledger.waiting.ask(asker, { ...deposit, reference }, 6, 'a large one');
    }
  };
  const signIn = async (page: Page, as = key): Promise<void> => {
    await page.getByLabel(/Key of/).fill(as);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Alerts' }).waitFor();
  };
  const show = (page: Page, view: string): Promise<void> =>
    page.getByRole('navigation').getByRole('button', { name: view }).click();
  const told = (page: Page, text: string): Promise<void> =>
    page.getByRole('status').filter({ hasText: text }).waitFor();
  const closeEmptyMonth = async (page: Page, month: string): Promise<void> => {
    await show(page, 'More');
    await page.getByLabel('Act', { exact: true }).selectOption('closeMonth');
    await page.locator('#member-month').fill(month);
    await page.locator('#member-empty').selectOption('true');
    await page.getByRole('button', { name: 'Review the act' }).click();
    await giveReason(page, 'nothing was traded');
    await told(page, 'Done: Close month.');
  };
  const showWallet = async (page: Page): Promise<void> => {
    await show(page, 'Wallet');
    await page.getByLabel('Address').fill(wallet);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Statement/ }).waitFor();
    await page.getByText('deposit').first().waitFor();
  };
  const giveReason = async (page: Page, reason: string): Promise<void> => {
    await page.getByLabel('Reason').fill(reason);
    await page.keyboard.press('Enter');
  };
  const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

  browserTest('shows the open view in the colours of the system', async (open) => {
    const { page } = await open(url);
    await page.emulateMedia({ forcedColors: 'active' });
    await signIn(page);
    const current = page.getByRole('navigation').getByRole('button', { name: 'Status' });
    await current.hover();
    const [shown, chosen] = await current.evaluate((button) => {
      const coloursOf = (element: Element): string[] => {
        const { backgroundColor, color } = getComputedStyle(element);
        return [backgroundColor, color];
      };
      const probe = document.createElement('p');
      probe.style.cssText = 'background: Highlight; color: HighlightText; forced-color-adjust: none';
      document.body.append(probe);
      return [coloursOf(button), coloursOf(probe)];
    });
    expect(shown).to.deep.equal(chosen);
  });

  browserTest(
    "has no violation of axe's rules in any view and theme, and no sideways scrolling",
    async (open) => {
      const { page } = await open(url);
      const judge = async (view: string): Promise<void> => {
        for (const [colorScheme, rules] of RULES_OF_THEMES) {
          await page.emulateMedia({ colorScheme });
          expect(await violationsOf(page, rules), `${view}, ${colorScheme}`).to.deep.equal([]);
          const { DESK_PICTURES: folder } = process.env;
          if (folder) await page.screenshot({ path: `${folder}/${view}-${colorScheme}.png`, fullPage: true });
        }
        expect(await reorderedWhenTurned(page), view).to.deep.equal([]);
      };
      await judge('sign-in');
      await signIn(page);
      for (const view of VIEWS) {
        if (view === 'Wallet') await showWallet(page);
        else await show(page, view);
        await page.getByText('Loading').first().waitFor({ state: 'detached' });
        for (const width of [768, 1280]) {
          await page.setViewportSize({ width, height: 800 });
          expect(await overflowOf(page), `${view} at ${width}`).to.be.at.most(0);
        }
        await judge(view);
      }
      await page.getByRole('button', { name: 'Pause trading' }).click();
      await judge('dialog');
    },
  );

  browserTest('rejects an unknown key, and forgets a good one with the page', async (open) => {
    const { page, tolerate } = await open(url);
    tolerate(/401/);
    await page.getByLabel(/Key of/).fill(`rbk_${'A'.repeat(43)}`);
    await page.keyboard.press('Enter');
    await page.getByText('unknown or revoked').waitFor();
    await signIn(page);
    expect(
      await page.evaluate(() =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
      ),
    ).not.to.include(key);
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  browserTest('forgets the view and what it searched for when the operator signs out', async (open) => {
    const { page } = await open(url);
    await signIn(page);
    await show(page, 'Withdrawals');
    await page.getByLabel('Reference', { exact: true }).fill('paid later');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Withdrawal of the reference' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page);
    await show(page, 'Withdrawals');
    expect(await page.getByLabel('Reference', { exact: true }).inputValue()).to.equal('');
  });

  browserTest('shows characters that turn the direction of a reference', async (open) => {
    const { page } = await open(url);
    await signIn(page);
    await show(page, 'Withdrawals');
    await page.getByRole('cell', { name: TURNED_SHOWN, exact: true }).waitFor();
    await rowOf(page, TURNED_SHOWN).getByRole('button', { name: 'Take' }).click();
    await page.getByRole('dialog').getByText(TURNED_SHOWN).waitFor();
    expect(await page.locator('body').textContent()).not.to.include('\u202e');
  });

  browserTest('shows each check of the last reconcile with its result', async (open) => {
    const { page } = await open(url);
    await signIn(page);
    await show(page, 'Books');
    const cells = async (check: string): Promise<string[]> => {
      await rowOf(page, check).waitFor();
      return rowOf(page, check).getByRole('cell').allInnerTexts();
    };
    expect(await cells('supply')).to.deep.equal(['supply', 'USDC', '4 accounts', '3 differences']);
    expect(await cells('epochs rise')).to.deep.equal(['epochs rise', '', 'up to event 7', 'holds']);
  });

  browserTest('closes a month with its reason, and tells that one was closed before', async (open) => {
    const { page, tolerate } = await open(url);
    tolerate(/409/);
    await signIn(page);
    await show(page, 'Books');
    await rowOf(page, '2020-01').waitFor();
    const close = async (month: string): Promise<void> => {
      await page.getByRole('button', { name: 'Close month' }).click();
      expect(await page.getByRole('button', { name: 'Close the month' }).isDisabled()).to.equal(true);
      await page.getByLabel('A month that is over (UTC), like').fill(month);
      await giveReason(page, 'the year ends');
    };
    await close('2020-02');
    await page.getByText('2020-02 has no entries', { exact: false }).waitFor();
    await page.keyboard.press('Escape');
    await closeEmptyMonth(page, '2020-02');
    await show(page, 'Books');
    await rowOf(page, '2020-02').waitFor();
    await close('2020-02');
    await told(page, '2020-02 was closed before: nothing changed.');
    expect(await page.getByRole('button', { name: 'Reopen' }).count()).to.equal(1);
    await rowOf(page, '2020-02').getByRole('button', { name: 'Reopen' }).click();
    await giveReason(page, 'a wrong month');
    await told(page, '2020-02 is open again.');
    await rowOf(page, '2020-02').getByText('withdrawn').waitFor();
    await rowOf(page, '2020-01').getByRole('button', { name: 'Reopen' }).waitFor();
    await close('2090-01');
    await page.getByText('2090-01 is not over yet (UTC).').waitFor();
    expect(await violationsOf(page, RULES_OF_THEMES[0]![1])).to.deep.equal([]);
  });

  browserTest('confirms and returns withdrawals, each with its reason, by keyboard alone', async (open) => {
    const { page, tolerate } = await open(url);
    await signIn(page);
    await show(page, 'Withdrawals');
    await rowOf(page, 'paid later').getByRole('button', { name: 'Confirm' }).focus();
    await page.keyboard.press('Enter');
    const confirm = page.getByRole('button', { name: 'Confirm the withdrawal' });
    await page.getByLabel('Transaction').focus();
    await page.keyboard.type('0xfeed');
    expect(await confirm.isDisabled()).to.equal(true);
    await page.keyboard.press('Tab');
    await page.keyboard.type('seen on chain');
    await page.keyboard.press('Enter');
    await told(page, 'is confirmed');
    await rowOf(page, 'paid later').waitFor({ state: 'detached' });
    // The longest reference moves no button out of sight.
    const last = await rowOf(page, 'left open').getByRole('button', { name: 'Return' }).boundingBox();
    expect(last!.x + last!.width).to.be.at.most(page.viewportSize()!.width);
    await page.getByLabel('Reference').fill('paid later');
    await page.getByRole('button', { name: 'Find' }).click();
    await rowOf(page, '0xfeed').getByText('confirmed').waitFor();
    const sentBack = rowOf(page, 'sent back');
    await sentBack.getByRole('button', { name: 'Take' }).click();
    await page.getByLabel('Name of one worker or person').fill('ann');
    await giveReason(page, 'pays it by hand');
    await told(page, 'is taken by ann');
    await sentBack.getByText('ann (desk) until').waitFor();
    expect(await sentBack.getByRole('button', { name: 'Return' }).count()).to.equal(0);
    await sentBack.getByRole('button', { name: 'Release' }).click();
    await giveReason(page, 'not paid');
    await told(page, 'is released');
    await sentBack.getByRole('button', { name: 'Return' }).click();
    await giveReason(page, 'address unknown');
    await told(page, 'is returned');
    // Another operator ends the last one while its dialog is open.
    await rowOf(page, 'left open').getByRole('button', { name: 'Return' }).click();
    for (const reference of [TURNED, LEFT_OPEN])
      await endWithdrawal(stage, reference, { kind: 'confirmed', txid: '0x1' }, ACT);
    tolerate(/409/);
    await giveReason(page, 'too late');
    await page.getByRole('alert').filter({ hasText: 'was confirmed before' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('No withdrawal is pending.').waitFor();
    await show(page, 'Acts');
    const act = rowOf(page, 'withdrawal confirm').filter({ hasText: 'seen on chain' });
    await act.filter({ hasText: 'desk' }).waitFor();
    const find = async (text: string): Promise<void> => {
      await page.getByLabel('By a person or key, or of a wallet').fill(text);
      await page.getByRole('button', { name: 'Find' }).click();
    };
    await find('nobody');
    await page.getByText('No changes yet.').waitFor();
    await find(wallet);
    await act.first().waitFor();
    await find('');
  });

  browserTest(
    'approves and refuses movements that wait, and offers neither where it may not',
    async (open) => {
      const { page, tolerate } = await open(url);
      // Deposits of a key that exists are booked.
      await createKey(stage, { name: 'asker', rights: ['credit'], caps: new Map() }, ACT);
      await signIn(page);
      await show(page, 'Approvals');
      const own = rowOf(page, 'desk 0');
      await own.getByText('another key decides it').waitFor();
      expect(await own.getByRole('button').count()).to.equal(0);
      const first = page.getByRole('row').nth(2);
      expect((await first.getByRole('cell').allInnerTexts()).slice(1, 7)).to.deep.equal([
        'asker',
        'deposit',
        '20000 USDC',
        wallet,
        'asker 59',
        'a large one',
      ]);
      const rows = page.getByRole('row');
      await page.getByRole('button', { name: 'Next page' }).click();
      await page.getByText('Page 2').waitFor();
      await rowOf(page, 'asker 0').waitFor();
      expect(await rows.count()).to.equal(12);
      await page.getByRole('button', { name: 'Previous page' }).click();
      const row = (at: number) =>
        page.getByRole('row').filter({ has: page.getByText(`asker ${at}`, { exact: true }) });
      await row(59).getByRole('button', { name: 'Approve' }).click();
      await giveReason(page, 'called the client');
      await told(page, 'is approved and booked');
      await row(59).waitFor({ state: 'detached' });
      await row(58).getByRole('button', { name: 'Refuse' }).focus();
      await page.keyboard.press('Enter');
      await giveReason(page, 'nobody knows it');
      await told(page, 'is refused');
      await row(58).waitFor({ state: 'detached' });
      // Another request takes the place of the one in the dialog.
      await row(57).getByRole('button', { name: 'Approve' }).click();
      tolerate(/409/);
      await stage.ledger.waiting.decide('deposit', 'asker 57', async () => 'refused');
      await giveReason(page, 'too late');
      await page.getByRole('alert').filter({ hasText: 'was refused' }).waitFor();
      await page.keyboard.press('Escape');
      const reader = await createKey(stage, { name: 'reader', rights: ['read'], caps: new Map() }, ACT);
      await page.reload();
      await signIn(page, reader);
      await show(page, 'Approvals');
      await row(56).waitFor();
      expect(await page.getByRole('row').getByRole('button').count()).to.equal(0);
    },
  );

  browserTest('shows a statement newest first, in pages', async (open) => {
    const { page } = await open(url);
    await signIn(page);
    await show(page, 'Wallet');
    await page.getByLabel('Address').fill(busy);
    await page.keyboard.press('Enter');
    const lines = page.getByRole('region', { name: 'Table: Statement' }).getByRole('row');
    await page.getByText('Page 1').waitFor();
    expect(await lines.count()).to.equal(251);
    const [newest] = await lines.nth(1).getByRole('cell').allInnerTexts();
    await page.getByRole('button', { name: 'Next page' }).press('Enter');
    await page.getByText('Page 2').waitFor();
    await eventually('the rest is shown', async () => (await lines.count()) === 11);
    const [oldest] = await lines.nth(10).getByRole('cell').allInnerTexts();
    expect(Date.parse(`${oldest}Z`)).to.be.at.most(Date.parse(`${newest}Z`));
    expect(await page.getByRole('button', { name: 'Next page' }).isDisabled()).to.equal(true);
  });

  browserTest('saves the reports of a month, and closes it', async (open) => {
    const { page, tolerate } = await open(url);
    tolerate(/409/);
    await signIn(page);
    await show(page, 'Reports');
    const from = `${new Date().toISOString().slice(0, 7)}-01`;
    const to = `${new Date(Date.parse(from) + 31 * 86_400_000).toISOString().slice(0, 7)}-01`;
    await page.getByLabel('Month (UTC)').fill(from.slice(0, 7));
    const saved = async (name: string): Promise<readonly [file: string, text: string]> => {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name, exact: true }).click(),
      ]);
      await told(page, `${file.suggestedFilename()} is saved.`);
      return [file.suggestedFilename(), await readFile((await file.path())!, 'utf8')];
    };
    const asked = async (path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${url}operator/v1${path}`, { headers })).text();
    };
    const span = `from=${from}&to=${to}`;
    const by = 'by=day%2Cmarket';
    for (const [button, name, path] of [
      ['csv Balances of all accounts at the end', 'balances', `/balances?asOf=${to}&format=csv`],
      ['json Fees by day and market', 'fees', `/fees?${span}&${by}`],
      ['csv Volumes by day and market', 'volumes', `/volumes?${span}&${by}&format=csv`],
      ['csv Deposits and withdrawals', 'movements', `/movements?${span}&format=csv`],
      ['json Withdrawals alone, with their steps', 'withdrawals', `/movements?${span}&side=withdrawal`],
      ['csv Acts of operators and keys', 'acts', `/acts?since=${from}&until=${to}&format=csv`],
      ['csv Entries of the ledger', 'entries', `/entries?${span}&format=csv`],
      ['json All closed months', 'closings', '/closings'],
    ] as const) {
      const file = `${name}-${from}-${to}.${button.split(' ')[0]}`;
      expect(await saved(button), button).to.deep.equal([file, await asked(path)]);
    }
    await page.getByLabel('Wallet', { exact: true }).fill(busy);
    // Its pages make one file.
    const [name, text] = await saved('csv Statement');
    expect(name).to.equal(`statement-${busy}-${from}-${to}.csv`);
    expect(text.split('\n').filter((line) => line.includes(',deposit,'))).to.have.length(260);
    await page.getByLabel('CSV for spreadsheets').check();
    expect((await saved('csv Fees by day and market'))[1]).to.match(/^\ufeff/);
    await page.getByLabel('Month (UTC)').fill('2020-04');
    await page.getByText('not closed').waitFor();
    await page.getByRole('button', { name: 'Close 2020-04' }).click();
    await giveReason(page, 'the books of spring');
    await page.getByText('2020-04 has no entries', { exact: false }).waitFor();
    await page.keyboard.press('Escape');
    await closeEmptyMonth(page, '2020-04');
    await show(page, 'Reports');
    await page.getByLabel('Month (UTC)').fill('2020-04');
    await page.getByText('closed at').waitFor();
  });

  browserTest(
    'tells the command for a report that is too large, and saves none that was cut off',
    async (open) => {
      const { page, tolerate } = await open(url);
      await signIn(page);
      await show(page, 'Reports');
      await page.getByLabel('Month (UTC)').fill('2026-01');
      // No test books so many entries: the reply is written here.
      await page.route('**/operator/v1/entries*', (route) =>
        route.fulfill({ body: 'x'.repeat(65 * 1024 * 1024) }),
      );
      await page.getByRole('button', { name: 'csv Entries of the ledger' }).click();
      const alert = page.getByRole('alert');
      await alert.filter({ hasText: 'larger than 64.0 MiB' }).waitFor();
      expect(await alert.locator('code').textContent()).to.equal(
        'redbook ledger export --from 2026-01-01 --to 2026-02-01 --format csv > entries-2026-01-01-2026-02-01.csv',
      );
      tolerate(/ERR_CONNECTION_RESET/);
      await page.route('**/operator/v1/fees*', (route) => route.abort('connectionreset'));
      await page.getByRole('button', { name: 'csv Fees' }).click();
      await alert.filter({ hasText: 'nothing was saved' }).waitFor();
    },
  );

  browserTest(
    'halts and edits a market with old and new shown first, holds a wallet, and pauses all trading, translated or not',
    async (open) => {
      const { page } = await open(url, { prepare: ({ context }) => translated(context) });
      await signIn(page);
      await show(page, 'Markets');
      const row = rowOf(page, SYMBOL);
      await row.getByRole('button', { name: 'Halt' }).click();
      await giveReason(page, 'looks odd');
      await row.getByText('halted').waitFor();
      await row.getByRole('button', { name: 'Resume' }).click();
      await giveReason(page, 'is fine');
      await row.getByText('active').waitFor();
      await row.getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('feeBps').fill('25');
      await page.getByLabel('maxOrderSize').fill('1000.5');
      await page.getByRole('button', { name: 'Review changes' }).click();
      const changes = page.getByRole('dialog').getByRole('row');
      expect(await changes.allInnerTexts()).to.include.members([
        'feeBps\t10\t25',
        'maxOrderSize\tnone\t1000.5',
      ]);
      await giveReason(page, 'new season');
      await row.getByText('25 bps').waitFor();
      const market = (await stage.engine.markets.all()).find(({ symbol }) => symbol === SYMBOL)!;
      expect([market.feeBps, market.maxOrderSize]).to.deep.equal([25, '1000.5']);
      await hold(page);
      await pause(page);
    },
  );

  browserTest('asks for each other act by the members that its operation names', async (open) => {
    const { page } = await open(url);
    await signIn(page);
    await show(page, 'More');
    const names = await page.getByLabel('Act', { exact: true }).getByRole('option').allInnerTexts();
    expect(names).to.have.members([
      'Create market',
      'Clear market',
      'Set asset',
      'Announce deposit',
      'Credit deposit',
      'Drop deposit',
      'Request withdrawal',
      'Void order',
      'Require terms',
      'Close month',
    ]);
    await page.getByLabel('Act', { exact: true }).selectOption('Set asset');
    await page.getByLabel('symbol').fill('DESK');
    await page.getByLabel('name: Name for aggregators').fill('Desk');
    await page.getByLabel('canDeposit').selectOption('false');
    await page.getByRole('button', { name: 'Review the act' }).click();
    await giveReason(page, 'deposits are closed');
    await told(page, 'Done: Set asset.');
    await page.getByLabel('Act', { exact: true }).selectOption('Require terms');
    for (const [version, reason] of [
      ['7', 'the first terms'],
      ['null', 'no terms any more'],
    ] as const) {
      await page.getByLabel('version').fill(version);
      await page.getByRole('button', { name: 'Review the act' }).click();
      await giveReason(page, reason);
      const isRequired = async (): Promise<boolean> =>
        String((await stage.engine.reads.state()).termsVersion) === version;
      await eventually('they are required', isRequired);
    }
    await show(page, 'Acts');
    await rowOf(page, 'deposits are closed').getByText('DESK', { exact: true }).waitFor();
    await rowOf(page, 'the first terms').waitFor();
    await rowOf(page, 'no terms any more').waitFor();
  });

  async function hold(page: Page): Promise<void> {
    await showWallet(page);
    await rowOf(page, '10.5').getByText('buy').waitFor();
    await page.getByText('withdrawal requested').first().waitFor();
    await page.getByRole('button', { name: 'Hold' }).click();
    await giveReason(page, 'asked by compliance');
    await page.getByText('The wallet has no live orders.').waitFor();
    await page.getByRole('button', { name: 'Release' }).click();
    await giveReason(page, 'cleared');
    await told(page, 'is released');
  }

  /** Takes the typed word and a reason, no less. */
  async function pause(page: Page): Promise<void> {
    await show(page, 'Kill switch');
    for (const [verb, word, isPaused] of [
      ['Pause', 'PAUSE', true],
      ['Resume', 'RESUME', false],
    ] as const) {
      await page.getByRole('button', { name: `${verb} trading` }).click();
      const send = page.getByRole('button', { name: `${verb} all trading` });
      await page.getByLabel('Reason').fill('a drill');
      await page.getByLabel(`Type ${word}`).fill(word.toLowerCase());
      expect(await send.isDisabled()).to.equal(true);
      await page.getByLabel(`Type ${word}`).fill(word);
      await send.click();
      await page.getByText(isPaused ? 'Trading is paused.' : 'Trading is on.').waitFor();
      await eventually('switched', async () => (await stage.engine.reads.state()).paused === isPaused);
    }
  }
});
