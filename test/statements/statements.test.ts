/** Proves that balances at a time, statements, sums and closings equal an independent recomputation from events. */

import { expect } from 'chai';
import type { StatementPage } from '../../src/ledger/index.ts';
import { query } from '../ledger/tables.ts';
import { random, runSeed } from '../support/seed.ts';
import { WALLETS } from '../support/seeded-events.ts';
import { freshLedgerDatabase } from '../support/servers.ts';
import {
  compareBalances,
  compareEverything,
  compareImport,
  compareStatement,
  type History,
  monthsOf,
  settleHistory,
} from './history.ts';

describe('statements of a seeded history', () => {
  let history: History;
  let databaseUrl: string;
  before(async () => {
    databaseUrl = await freshLedgerDatabase();
    history = await settleHistory(databaseUrl, { seed: runSeed(), events: 3_000, batch: 120, days: 75 });
  });
  after(() => history.ledger.close());

  it('equal their recomputation at ten random times, and in each month of each wallet', () =>
    compareEverything(history, 10));

  it('count a withdrawal from one millisecond after it on', async () => {
    const { timeMs } = history.whole.changes.findLast(({ what }) => what === 'withdrawal')!;
    await compareBalances(history, timeMs);
    await compareBalances(history, timeMs + 1);
  });

  it('are the same in pages of any length', async () => {
    const [month] = monthsOf(history);
    for (const pageLines of [1, 2, 7]) await compareStatement(history, WALLETS[1]!, month!, pageLines);
  });

  it('have the same lines newest first, in pages of any length', async () => {
    const { newestPage, longPage } = history.ledger.statements;
    const [fromMs, toMs] = monthsOf(history)[0]!;
    for (const wallet of WALLETS.slice(0, 3)) {
      const span = { wallet, fromMs, toMs };
      const { stated: whole } = await longPage(span, null, 100_000);
      for (const pageLines of [1, 2, 7, 100_000]) {
        const found = [];
        for (let before = null, more = true; more; ) {
          const page: StatementPage = await newestPage(span, before, pageLines);
          expect(page.stated.length).to.be.at.most(pageLines);
          found.push(...page.stated);
          before = page.next as never;
          more = page.next !== null;
        }
        expect(found).to.deep.equal(whole.toReversed());
      }
    }
  });

  it('start from kept balances, and are the same without them', async () => {
    const [{ count: days }] = (await query<{ count: bigint }>(
      databaseUrl,
      'select count(distinct sequence) from kept_balances',
    )) as [{ count: bigint }];
    const closings = await history.ledger.closings.all();
    expect(closings.length + Number(days)).to.be.greaterThan(1);
    const inClosed = await query<{ sequence: bigint }>(
      databaseUrl,
      'select distinct sequence from kept_balances where sequence < (select max(sequence) from closings)',
    );
    expect(inClosed, 'days inside closed months').to.not.have.length(0);
    const times = closings.map(({ endMs }) => endMs + random(runSeed()).below(86_400_000));
    await query(databaseUrl, 'set session_replication_role = replica; delete from kept_balances');
    for (const timeMs of times) await compareBalances(history, timeMs);
  });

  it('sum to the balances in a file for Koinly and for CoinTracking', async () => {
    for (const wallet of WALLETS)
      for (const format of ['koinly', 'cointracking'] as const) await compareImport(history, wallet, format);
  });

  it('have fees and volumes that equal their recomputation', async () => {
    const [fromMs, toMs] = monthsOf(history)[1]!;
    const fees = new Map<string, bigint>();
    for (const { account, what, timeMs, atoms } of history.whole.changes) {
      const day = new Date(timeMs).toISOString().slice(0, 10);
      if (account === 'house' && what === 'fee' && timeMs >= fromMs && timeMs < toMs)
        fees.set(day, (fees.get(day) ?? 0n) + atoms);
    }
    const found = new Map<string, bigint>();
    for await (const { by, feeAtoms } of history.ledger.turnover.fees({ fromMs, toMs }, ['day', 'market']))
      found.set(by[0]!, (found.get(by[0]!) ?? 0n) + feeAtoms);
    expect([...found].filter(([, atoms]) => atoms > 0n)).to.deep.equal([...fees]);
    const volumes = [];
    for await (const { baseAtoms, notionalAtoms } of history.ledger.turnover.volumes({ fromMs, toMs }, [
      'month',
    ]))
      volumes.push(baseAtoms + notionalAtoms);
    const traded = history.whole.changes
      .filter(({ what, timeMs }) => what === 'trade' && timeMs >= fromMs && timeMs < toMs)
      .reduce((sum, { atoms }) => (atoms > 0n ? sum + atoms : sum), 0n);
    expect(volumes.reduce((sum, atoms) => sum + atoms, 0n)).to.equal(traded);
  });

  it('reconcile, and differ when a kept balance was changed', async () => {
    const failed = async (): Promise<string[]> => {
      const { checks } = await history.ledger.checks.run();
      return checks.filter(({ count }) => count > 0).map(({ name }) => name);
    };
    expect(await failed()).to.deep.equal([]);
    const asInsider = (sql: string) => query(databaseUrl, `set session_replication_role = replica; ${sql}`);
    const last = '(select id from closings order by month desc limit 1)';
    const one = `closing = ${last} and (account, asset) = (select account, asset from closing_balances
      where closing = ${last} order by account, asset limit 1)`;
    await asInsider(`update closing_balances set total_atoms = total_atoms + 1 where ${one}`);
    expect(await failed()).to.deep.equal([
      'kept balances follow from entries',
      'kept balances end with their events',
    ]);
    await asInsider(`update closing_balances set total_atoms = total_atoms - 1, reserved_atoms = reserved_atoms - 1
      where ${one}`);
    expect(await failed()).to.deep.equal([
      'kept balances end with their events',
      'the last closing holds what orders held',
    ]);
    await asInsider(`update closing_balances set reserved_atoms = reserved_atoms + 1 where ${one}`);
    await asInsider(`update closings set sequence = sequence - 200 where id = ${last}`);
    expect(await failed()).to.include('kept balances end with their events');
  });
});
