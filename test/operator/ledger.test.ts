/** Tests operator commands that export the ledger and show the status of the exchange. */

import { expect } from 'chai';
import { BUSY_MARKETS as MARKETS, openBusyFixture, TAKER } from './busy-fixture.ts';
import type { OperatorFixture } from './fixture.ts';

describe('operator: ledger export', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openBusyFixture();
  });
  after(() => fixture.close());

  const SPAN = ['--from', '2020-01-01', '--to', '2100-01-01T00:00:00+02:00'];
  const read = async (...argv: string[]): Promise<string> => {
    const { status, stdout, stderr } = await fixture.run('ledger', 'export', ...SPAN, ...argv);
    expect(stderr).to.equal('');
    expect(status).to.equal(0);
    return stdout;
  };

  it('writes CSV with a header row, exact amounts and quoted texts', async () => {
    const text = await read();
    const lines = text.split('\n');
    expect(lines[0]).to.equal('entry_id,time,transaction_id,kind,account,asset,amount,reference');
    expect(lines.at(-1)).to.equal('');
    expect(text).to.contain(`,custody,BTC,1,"out, ""quoted""\nand broken"\n`);
    expect(text).to.match(
      /^\d+-\d,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,trade-\d+,fee,house,USDC,2\.001,[0-9a-f]{34}$/m,
    );
  });

  it('writes lines of JSON, and one JSON document, with the same entries', async () => {
    const lines = (await read('--format', 'jsonl')).trimEnd().split('\n');
    const entries = lines.map((line) => JSON.parse(line));
    expect(Object.keys(entries[0])).to.deep.equal([
      'entryId',
      'time',
      'transactionId',
      'kind',
      'account',
      'asset',
      'amount',
      'reference',
    ]);
    expect(JSON.parse(await read('--json'))).to.deep.equal({ entries });
    const csvRecords = [...(await read()).matchAll(/^\d+-\d+,/gm)].length;
    expect(csvRecords).to.equal(entries.length);
    for (const asset of ['ETH', 'USDC']) {
      const some = (await read('--format', 'jsonl', '--asset', asset)).trimEnd().split('\n');
      expect(some).to.deep.equal(lines.filter((line) => JSON.parse(line).asset === asset));
    }
  });

  it('goes on after any entry, so that the parts make the whole', async () => {
    for (const format of ['csv', 'jsonl']) {
      const whole = await read('--format', format);
      const idsIn = (text: string): string[] =>
        [...text.matchAll(/^(?:\{"entryId":")?(\d+-\d+)[,"]/gm)].map(([, id]) => id!);
      const ids = idsIn(whole);
      expect(ids.length).to.be.greaterThan(20);
      for (const [index, id] of ids.entries()) {
        const rest = await read('--format', format, '--after', id);
        expect(idsIn(rest)).to.deep.equal(ids.slice(index + 1));
        expect(whole.endsWith(rest)).to.equal(true);
      }
    }
  });

  it('takes its span to the millisecond, the end left out', async () => {
    const entries = JSON.parse(await read('--json')).entries;
    const times = entries.map(({ time }: { time: string }) => time);
    const [first, last] = [times[0], times.at(-1)];
    const { stdout } = await fixture.run('ledger', 'export', '--from', first, '--to', last, '--json');
    expect(JSON.parse(stdout).entries).to.deep.equal(
      entries.filter(({ time }: { time: string }) => time < last),
    );
    const none = await fixture.run('ledger', 'export', '--from', first, '--to', first, '--json');
    expect(JSON.parse(none.stdout)).to.deep.equal({ entries: [] });
    const header = await fixture.run('ledger', 'export', '--from', '2090-01-01', '--to', '2091-01-01');
    expect(header.stdout.split('\n')).to.have.length(2);
  });

  it('sums to zero in every asset', async () => {
    const { entries } = JSON.parse(await read('--json'));
    const sums: Record<string, bigint> = {};
    for (const { asset, amount } of entries as { asset: string; amount: string }[]) {
      const [whole, fraction = ''] = amount.replace('-', '').split('.');
      const atoms = BigInt(whole + fraction.padEnd(8, '0'));
      sums[asset] = (sums[asset] ?? 0n) + (amount.startsWith('-') ? -atoms : atoms);
    }
    expect(sums).to.deep.equal({ ETH: 0n, BTC: 0n, USDC: 0n });
  });
});

describe('operator: status', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openBusyFixture();
  });
  after(() => fixture.close());

  it('tells the lag of settlement, and what else is known', async () => {
    const { sequence } = await fixture.engine.reads.state();
    const quiet = await fixture.ask('status');
    expect(quiet.engine).to.include({ epoch: 1, sequence, paused: false, requiredTerms: null });
    expect(quiet.settlement).to.deep.include({ epoch: 1, sequence, lag: { events: 0, seconds: 0 } });
    expect(quiet.markets).to.deep.equal(
      MARKETS.map((symbol) => ({ symbol, status: 'active', tradingEnabled: true })),
    );
    expect(quiet).to.include({ queue: null, replicas: null, snapshotAgeMs: null });

    await fixture.place({ wallet: TAKER, price: '1' });
    await fixture.place({ wallet: TAKER, price: '1' });
    const { settlement } = await fixture.ask('status');
    expect(settlement.lag.events).to.equal(2);
    expect(settlement.lag.seconds).to.be.within(0, 5);
    await fixture.settle();
  });

  it('shows it to people', async () => {
    await fixture.ask('market', 'set', 'BTC/USDC', '--status', 'halted');
    Object.assign(fixture.services, {
      queueCounts: async () => ({ waiting: 1, active: 0, delayed: 1 }),
      replicas: async () => ({ api: 2, settlement: 1 }),
      snapshotAgeMs: async () => 1234,
    });
    const { stdout, status } = await fixture.run('status');
    expect(status).to.equal(0);
    expect(stdout).to.match(/^trading {4}on$/m);
    expect(stdout).to.match(/^markets {4}1 active, 1 halted$/m);
    expect(stdout).to.match(/^lag {8}1 events, [\d.]+ s$/m);
    expect(stdout).to.match(/^queue {6}1 waiting, 1 delayed$/m);
    expect(stdout).to.match(/^replicas {3}2 api, 1 settlement$/m);
    expect(stdout).to.match(/^snapshots {2}1.2 s old$/m);
  });

  it('does without what cannot be known', async () => {
    const queueCounts = async (): Promise<never> => {
      throw new Error('no queue');
    };
    Object.assign(fixture.services, { queueCounts });
    expect(await fixture.ask('status')).to.include({ queue: null });
  });

  it('is of use when a server is away, and fails all the same', async () => {
    fixture.operating.disconnect();
    const { status, stdout, stderr } = await fixture.run('status', '--json');
    expect(status).to.equal(1);
    expect(JSON.parse(stderr).code).to.equal('SERVICE_UNAVAILABLE');
    const document = JSON.parse(stdout);
    expect(document.engine).to.equal(null);
    expect(document.settlement).to.deep.include({ epoch: 1, lag: null });
    expect((await fixture.run('status')).stdout).to.match(/^engine {5}away$/m);
  });
});
