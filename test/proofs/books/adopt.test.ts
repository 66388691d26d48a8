/** Proves that a Postgres of before the events that are left takes over what the engine holds, and loses nothing else. */

import { expect } from 'chai';
import { KEYS } from '../../../src/engine/keys.ts';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';
import { ASSETS, openMarkets, tradeAtRandom, WALLETS } from '../../books/random-trading.ts';
import { query } from '../../ledger/tables.ts';
import { type OperatorFixture, openOperatorFixture, WALLET } from '../../operator/fixture.ts';
import { type Random, random, runSeed } from '../../support/seed.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';
import { settleAll } from '../../support/settle-all.ts';

const BOB = WALLETS[1]!;
const MARKETS = ['ETH/USDC', 'BTC/USDC', 'BTC/ETH'];
const COMMANDS = 80;

/** An exchange, and a second ledger that has stopped settling. */
interface Exchange extends OperatorFixture {
  readonly old: Ledger;
  readonly oldUrl: string;
}

async function openTraded(): Promise<Exchange> {
  const fixture = await openOperatorFixture();
  const oldUrl = await freshLedgerDatabase();
  const old = openLedger({ databaseUrl: oldUrl });
  await openMarkets(fixture, Object.fromEntries(MARKETS.map((market) => [market, {}])));
  return { ...fixture, old, oldUrl };
}

const trade = ({ engine }: Exchange, dice: Random, name: string): Promise<void> =>
  tradeAtRandom({ engine }, dice, { markets: MARKETS, commands: COMMANDS, name });

const sequenceOf = async ({ engine }: Exchange): Promise<number> => (await engine.reads.state()).sequence;

/** The state that statements, lists and rebuilds begin with. */
async function stateOf(ledger: Ledger): Promise<Record<string, unknown>> {
  const { sequence } = await ledger.settlement.cursor();
  const balances: string[] = [];
  for (const asset of ASSETS)
    for await (const { account, atoms } of ledger.state.balances(asset, sequence))
      if (atoms !== 0n) balances.push(`${account} ${atoms} ${asset}`);
  const orders: string[] = [];
  for await (const { id, wallet, remainingSteps, clientOrderId } of ledger.state.liveOrders(sequence))
    orders.push(`${id} ${wallet} ${remainingSteps} ${clientOrderId}`);
  const { cursor, ...switches } = await ledger.state.switches();
  const { holds, takes, acceptedTerms, markets, marketVersions, ...others } = switches;
  return {
    sequence,
    balances,
    orders,
    holds: [...holds].sort(),
    takes: [...takes],
    terms: [...acceptedTerms].sort(),
    markets: [...markets].sort((a, b) => a.number - b.number),
    versions: [...marketVersions].sort(),
    ...others,
    assets: await ledger.state.assets(),
    prices: [...(await ledger.state.lastPrices())].sort(),
  };
}

describe('books: adopt', () => {
  let exchange: Exchange;
  let dice: Random;
  beforeEach(async () => {
    dice = random(runSeed());
    exchange = await openTraded();
    await trade(exchange, dice, 'known');
    await settleAll({ engine: exchange.engine, ledger: exchange.old }, { trims: false });
  });
  afterEach(async () => {
    await exchange.old.close();
    await exchange.close();
  });

  /** Settles everything, drops the events up to one, and lets the commands work on the older ledger. */
  async function lose(last: number): Promise<void> {
    const { redis, engine, ledger, old, services } = exchange;
    await exchange.settle();
    const { epoch } = await engine.reads.state();
    await redis.xtrim(KEYS.events, 'MINID', `${epoch}-${last + 1}`);
    exchange.services = { ...services, ledger: old };
    Object.assign(services, { ledger: old });
    expect((await ledger.settlement.cursor()).sequence).to.equal(await sequenceOf(exchange));
  }

  const adopt = async (last: number) => {
    const seams = await query(exchange.oldUrl, 'select * from adoptions');
    const asked = await exchange.run('ledger', 'adopt', '--json');
    expect(asked.status).to.equal(1);
    expect(JSON.parse(asked.stderr).code).to.equal('CONFIRM');
    expect(asked.stderr).to.contain(`--confirm ${last}`);
    expect(await query(exchange.oldUrl, 'select * from adoptions')).to.deep.equal(seams);
    return exchange.ask('ledger', 'adopt', '--confirm', `${last}`, '--by', 'ann', '--reason', 'disk lost');
  };
  const settleOld = (): Promise<void> =>
    settleAll({ engine: exchange.engine, ledger: exchange.old }, { trims: false });

  it('takes over balances, live orders and settings, and settles the events that are left', async () => {
    await trade(exchange, dice, 'lost');
    await exchange.ask('account', 'hold', WALLET('e'), '--reason', 'a test');
    await exchange.ask('terms', 'require', '2');
    for (const wallet of WALLETS) await exchange.engine.switches.acceptTerms(wallet, '2');
    await exchange.ask('market', 'set', 'BTC/ETH', '--fee-bps', '3');
    await exchange.ask('account', 'credit', BOB, 'USDC', '77', '--reference', 'lost deposit');
    await exchange.ask('withdrawal', 'request', BOB, 'USDC', '5', '--reference', 'ends later');
    await exchange.ask('withdrawal', 'request', BOB, 'USDC', '2', '--reference', 'taken');
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await exchange.ask('withdrawal', 'take', 'taken', '--by', 'payer', '--until', until);
    const last = await sequenceOf(exchange);
    await exchange.ask('withdrawal', 'confirm', 'ends later', '--txid', '0x1');
    await exchange.ask('market', 'set', 'ETH/USDC', '--fee-bps', '20');
    await trade(exchange, dice, 'left');
    await lose(last);
    const due = await stateOf(exchange.ledger);
    const { sequence: after } = await exchange.old.settlement.cursor();
    const seam = await adopt(last);
    expect(seam).to.include({ afterSequence: after, sequence: last, isWritten: true });
    expect(seam.balances.length).to.be.above(0);
    await settleOld();
    expect(await stateOf(exchange.old)).to.deep.equal(due);
    const { checks, holds } = await exchange.ask('ledger', 'reconcile');
    expect(checks.flatMap((one: { differences: unknown[] }) => one.differences)).to.deep.equal([]);
    expect(holds).to.equal(true);
    const [act] = await query(exchange.oldUrl, `select * from operator_acts where name = 'ledger adopt'`);
    expect(act).to.include({ operator: 'ann', reason: 'disk lost', after: `event ${last}` });
  });

  it('takes over debts, reversals of lost deposits and assets of lost announcements', async () => {
    const { ask, settle, engine, old } = exchange;
    const reverted = WALLET('e');
    const indebted = WALLET('f');
    const announce = (asset: string, reference: string): Promise<unknown> =>
      ask('deposit', 'announce', BOB, asset, '1', '--reference', reference);
    const reverse = async (wallet: string, amount: string, deposit: string): Promise<void> => {
      await settle();
      const words = ['--reference', `${deposit} is gone`, '--reverses', deposit, '--reason', 'a test'];
      await ask('account', 'debit', wallet, 'ETH', amount, ...words);
    };
    for (const reference of ['waits', 'credited']) await announce('ETH', reference);
    await settleAll({ engine, ledger: old }, { trims: false });
    await ask('deposit', 'credit', 'credited');
    await ask('asset', 'set', 'ONLY', '--scale', '2');
    await announce('ONLY', 'lost');
    for (const [wallet, reference] of [
      [reverted, 'reverted'],
      [indebted, 'spent'],
    ] as const)
      await ask('account', 'credit', wallet, 'ETH', '9', '--reference', reference);
    await ask('account', 'debit', indebted, 'ETH', '9', '--reference', 'out');
    await reverse(indebted, '9', 'spent');
    const last = await sequenceOf(exchange);
    await reverse(reverted, '4', 'reverted');
    expect(await ask('account', 'credit', indebted, 'ETH', '3', '--reference', 'pays')).to.include({
      receivable: '3',
    });
    await lose(last);
    const shown = await exchange.run('ledger', 'adopt');
    expect(shown.stdout).to.contain(
      '2 deposits are announced by Postgres: ask custody which of them were credited, and drop those\n',
    );
    expect(await adopt(last)).to.include({ announcedDeposits: 2, pendingWithdrawals: 0 });
    await settleOld();
    const { checks } = await exchange.ask('ledger', 'reconcile');
    expect(checks.flatMap((one: { differences: unknown[] }) => one.differences)).to.deep.equal([]);
    const drop = ['deposit', 'drop', 'credited', '--reason', 'credited by a lost event'];
    expect(await exchange.refuse(...drop)).to.equal('REFERENCE_CONFLICT');
    await unguarded('movements', `update movements set owed_atoms = 0 where reference = 'pays'`);
    const { stdout } = await exchange.run('ledger', 'reconcile');
    expect(stdout).to.match(/^receivables are paid first .* 1 difference/m);
    for (const claims of KEYS.claims) await exchange.redis.del(claims);
    expect(await ask(...drop)).to.include({ state: 'dropped', duplicate: false });
    expect(await exchange.refuse('deposit', 'credit', 'credited')).to.equal('REFERENCE_CONFLICT');
  });

  it('continues trading, a second seam and a rebuild, when no event is left', async () => {
    for (const name of ['lost', 'lost again']) {
      await trade(exchange, dice, name);
      const last = await sequenceOf(exchange);
      await lose(last);
      expect(await exchange.redis.xlen(KEYS.events)).to.equal(0);
      await adopt(last);
      await exchange.ask('ledger', 'reconcile');
      await trade(exchange, dice, `after ${name}`);
      await settleOld();
      await exchange.ask('ledger', 'reconcile');
    }
    const state = await stateOf(exchange.old);
    expect({ ...state, sequence: 0 }).to.deep.equal({ ...(await settledState()), sequence: 0 });
    await exchange.redis.flushall();
    await exchange.ask('ledger', 'rebuild');
    for (const engine of [exchange.engine, exchange.services.engine])
      await engine.lifecycle.open(await exchange.old.settlement.cursor());
    await exchange.ask('ledger', 'reconcile');
    expect(await stateOf(exchange.old)).to.deep.equal(state);
  });

  /** The state of the ledger that never lost an event. */
  async function settledState(): Promise<Record<string, unknown>> {
    await exchange.settle();
    return stateOf(exchange.ledger);
  }

  it('loses one event alone, if somebody deleted one', async () => {
    await trade(exchange, dice, 'left');
    const { epoch, sequence } = await exchange.engine.reads.state();
    const last = sequence - Math.floor(COMMANDS / 4);
    await lose((await exchange.old.settlement.cursor()).sequence);
    expect(await exchange.redis.xdel(KEYS.events, `${epoch}-${last}`)).to.equal(1);
    expect(await settleOld().catch((error: Error) => error.name)).to.equal('LedgerDiverged');
    expect(await adopt(last)).to.include({ afterSequence: last - 1, sequence: last });
    await settleOld();
    await exchange.ask('ledger', 'reconcile');
    expect(await stateOf(exchange.old)).to.deep.equal(await settledState());
  });

  it('tells the seam in statements, whose lines sum to their closing balances on pages of any length', async () => {
    await trade(exchange, dice, 'lost');
    const last = await sequenceOf(exchange);
    await trade(exchange, dice, 'left');
    await lose(last);
    const seam = await adopt(last);
    await settleOld();
    const changed = new Set(seam.balances.map(({ account }: { account: string }) => account));
    for (const wallet of WALLETS) {
      const span = { wallet, fromMs: 0, toMs: Date.now() + 60_000 };
      const sums: Record<string, bigint> = {};
      const add = (asset: string, atoms: bigint): void => {
        sums[asset] = (sums[asset] ?? 0n) + atoms;
      };
      let page = await exchange.old.statements.page(span, null, 1);
      let adoptions = 0;
      for (;;) {
        for (const line of page.stated)
          if (line.kind === 'adoption') {
            add(line.asset, line.amountAtoms);
            adoptions += 1;
          } else if (line.kind === 'deposit') add(line.asset, line.amountAtoms);
          else if (line.kind === 'trade') {
            const sign = line.side === 'buy' ? 1n : -1n;
            add(line.base, sign * line.baseAtoms);
            add(line.quote, -sign * line.notionalAtoms - line.feeAtoms);
          }
        if (page.next === null) break;
        page = await exchange.old.statements.page(span, page.next, 1);
      }
      expect(sums).to.deep.equal(Object.fromEntries(page.closing!));
      expect(adoptions > 0).to.equal(changed.has(wallet));
    }
  });

  it('refuses where nothing is lost, where the engine is behind, and where the histories are two', async () => {
    const { sequence } = await exchange.old.settlement.cursor();
    await trade(exchange, dice, 'left');
    await lose(sequence);
    expect(await exchange.refuse('ledger', 'adopt')).to.equal('NOTHING_LOST');
    await query(exchange.oldUrl, `update engine_cursor set digest = 'another', sequence = sequence + 1`);
    expect(await exchange.refuse('ledger', 'adopt')).to.equal('OTHER_HISTORY');
    await query(exchange.oldUrl, 'update engine_cursor set sequence = sequence + 1000000');
    expect(await exchange.refuse('ledger', 'adopt')).to.equal('ENGINE_BEHIND');
  });

  it('refuses while somebody trades, and writes nothing', async () => {
    await trade(exchange, dice, 'lost');
    const last = await sequenceOf(exchange);
    await lose(last);
    const { engine } = exchange.services;
    const scanLive = engine.pages.scanLive.bind(engine.pages);
    engine.pages.scanLive = async (after) => {
      await exchange.place({ wallet: BOB, price: '1' });
      return scanLive(after);
    };
    expect(await exchange.refuse('ledger', 'adopt', '--confirm', `${last}`)).to.equal('ENGINE_BUSY');
    expect(await query(exchange.oldUrl, 'select from adoptions')).to.deep.equal([]);
  });

  it('is found by a reconcile when somebody changes a row of the seam', async () => {
    await trade(exchange, dice, 'lost');
    const last = await sequenceOf(exchange);
    await lose(last);
    await adopt(last);
    await exchange.ask('ledger', 'reconcile');
    const columns = await query<{ table: string; name: string; type: string }>(
      exchange.oldUrl,
      `select table_name as table, column_name as name, data_type as type from information_schema.columns
       where table_schema = 'public' and table_name like 'adopt%' order by table_name, ordinal_position`,
    );
    const changes = columns.map(({ table, name, type }) => {
      const other = type === 'text' ? `reverse(${name})` : `${name} ${name === 'steps' ? '+' : '-'} 1`;
      const one = `(select max(ctid) from ${table})`;
      return [table, `update ${table} set ${name} = ${other} where ctid = ${one}`] as const;
    });
    for (const [table, change] of [...changes, ['adopted_prices', 'delete from adopted_prices']] as const) {
      const kept = await query(exchange.oldUrl, `select to_jsonb(${table})::text as row from ${table}`);
      if (kept.length === 0) continue;
      await unguarded(table, change);
      const { status, stdout } = await exchange.run('ledger', 'reconcile');
      expect(status, change).to.equal(1);
      expect(stdout, change).to.match(
        /^(chain of events|times rise with events|entries follow .*) .* difference/m,
      );
      await unguarded(table, `delete from ${table}`);
      const again = kept.map(({ row }) => `jsonb_populate_record(null::${table}, '${row}')`);
      for (const one of again) await query(exchange.oldUrl, `insert into ${table} select * from ${one}`);
      await exchange.ask('ledger', 'reconcile');
    }
  });

  /** Runs a statement with the trigger of a table off. */
  async function unguarded(table: string, statement: string): Promise<void> {
    await query(exchange.oldUrl, `alter table ${table} disable trigger append_only`);
    await query(exchange.oldUrl, statement);
    await query(exchange.oldUrl, `alter table ${table} enable trigger append_only`);
  }
});
