/**
 * Imports statements into hledger: a journal of each month of each wallet, alone and all months together. It needs
 * `hledger` on PATH, as `apt-get install hledger` puts it there. Without it, the tests are skipped with a line that says so.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { atomsOf, type History, monthsOf, settleHistory, statementFile } from '../../statements/history.ts';
import { runSeed } from '../../support/seed.ts';
import { ASSETS, WALLETS } from '../../support/seeded-events.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';

const isThere = spawnSync('hledger', ['--version']).status === 0;
const SCALES = new Map(ASSETS.map(({ symbol, scale }) => [symbol, scale]));

describe('statements in hledger', () => {
  let history: History;
  let folder: string;
  before(async function () {
    if (!isThere) {
      console.log('    hledger is not on PATH: its tests are skipped (apt-get install hledger)');
      this.skip();
    }
    folder = mkdtempSync(join(tmpdir(), 'redbook-hledger-'));
    const options = { seed: runSeed(), events: 3_000, batch: 120, days: 75 };
    history = await settleHistory(await freshLedgerDatabase(), options);
  });
  after(async () => {
    await history?.ledger.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  const journalsOf = async (wallet: string): Promise<string[]> => {
    const files: string[] = [];
    for (const span of monthsOf(history)) {
      const file = join(folder, `${wallet}-${span[0]}.journal`);
      writeFileSync(file, await statementFile(history, wallet, span, 'hledger'));
      files.push(file);
    }
    return files;
  };

  const hledger = (file: string, ...words: string[]): string =>
    execFileSync('hledger', ['-f', file, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  /** Returns one journal that includes others: hledger asserts balances over includes, not over several `-f`. */
  function together(files: readonly string[]): string {
    const file = join(folder, 'whole.journal');
    writeFileSync(file, files.map((one) => `include ${one}\n`).join(''));
    return file;
  }

  it('hold their closing balances, each month alone and all months together', async () => {
    for (const wallet of WALLETS) {
      const files = await journalsOf(wallet);
      for (const file of files) hledger(file, 'check');
      hledger(together(files), 'check');
    }
  });

  it('sum to the balances of the exchange, and cost the fees that the wallet paid', async () => {
    for (const wallet of WALLETS) {
      const file = together(await journalsOf(wallet));
      const balancesOf = (account: string): Map<string, bigint> => {
        const text = hledger(
          file,
          'balance',
          account,
          '--output-format',
          'csv',
          '--layout',
          'bare',
          '--no-total',
        );
        const rows = text.trimEnd().split('\n').slice(1);
        const amounts = rows.map((row) => row.replaceAll('"', '').split(','));
        return new Map(amounts.map(([, asset, decimal]) => [asset!, atomsOf(decimal!, SCALES.get(asset!)!)]));
      };
      const figures = history.whole.figures();
      const balances = balancesOf(`assets:redbook:${wallet}`);
      for (const { symbol } of ASSETS)
        expect(balances.get(symbol) ?? 0n).to.equal(figures.get(`${wallet} ${symbol}`)?.total ?? 0n);
      const fees = history.whole.changes
        .filter(({ account, what }) => account === wallet && what === 'fee')
        .reduce((sum, { atoms }) => sum - atoms, 0n);
      expect(balancesOf('expenses:fees').get('USDC') ?? 0n).to.equal(fees);
    }
  });

  it('are refused by hledger when a line is missing', async () => {
    const [file] = await journalsOf(WALLETS[0]!);
    const [month] = monthsOf(history);
    const whole = await statementFile(history, WALLETS[0]!, month!, 'hledger');
    const lines = whole.split('\n\n');
    writeFileSync(file!, lines.toSpliced(Math.floor(lines.length / 2), 1).join('\n\n'));
    expect(() => hledger(file!, 'check')).to.throw(/balance assertion/i);
  });
});
