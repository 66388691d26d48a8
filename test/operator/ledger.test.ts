/** Tests operator commands that export the ledger and show the status of the exchange. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MAKER, BUSY_MARKETS as MARKETS, openBusyFixture, TAKER } from './busy-fixture.ts';
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
    expect(lines[0]).to.equal(
      'entry_id,time,transaction_id,kind,account,asset,amount,reference,market,side,price,size,fee_bps',
    );
    expect(lines.at(-1)).to.equal('');
    expect(text).to.contain(`,custody,BTC,1,"out, ""quoted""\nand broken",,,,,\n`);
    expect(text).to.match(
      /^"'\d+-\d",\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,trade-\d+,fee,house,USDC,2\.001,[0-9a-f]{34},ETH\/USDC,,2001,1,10$/m,
    );
  });

  it('writes JSON lines and one JSON document with the same entries', async () => {
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
      'market',
      'side',
      'price',
      'size',
      'feeBps',
    ]);
    expect(JSON.parse(await read('--json'))).to.deep.equal({ entries });
    const csvRecords = [...(await read()).matchAll(/^"'\d+-\d+",/gm)].length;
    expect(csvRecords).to.equal(entries.length);
    for (const asset of ['ETH', 'USDC']) {
      const some = (await read('--format', 'jsonl', '--asset', asset)).trimEnd().split('\n');
      expect(some).to.deep.equal(lines.filter((line) => JSON.parse(line).asset === asset));
    }
  });

  it('resumes after any entry, so that the parts join to the whole', async () => {
    for (const format of ['csv', 'jsonl']) {
      const whole = await read('--format', format);
      const idsIn = (text: string): string[] =>
        [...text.matchAll(/^(?:\{"entryId":"|"')(\d+-\d+)[,"]/gm)].map(([, id]) => id!);
      const ids = idsIn(whole);
      expect(ids.length).to.be.greaterThan(20);
      for (const [index, id] of ids.entries()) {
        const rest = await read('--format', format, '--after', format === 'csv' ? `'${id}` : id);
        expect(idsIn(rest)).to.deep.equal(ids.slice(index + 1));
        expect(whole.endsWith(rest)).to.equal(true);
      }
    }
  });

  it('takes its span in milliseconds, without its end', async () => {
    const entries = JSON.parse(await read('--json')).entries;
    const times = entries.map(({ time }: { time: string }) => time);
    const first = times[0];
    const last = times.at(-1);
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

describe('operator: statements', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openBusyFixture();
  });
  after(() => fixture.close());

  const SPAN = ['--from', '2020-01-01', '--to', '2100-01-01'];

  it('shows the balances of all accounts at a time, which sum to zero', async () => {
    const { balances, trialBalance, settledTo } = await fixture.ask(
      'ledger',
      'balances',
      '--as-of',
      '2100-01-01',
    );
    expect(balances).to.deep.include({
      account: TAKER,
      asset: 'BTC',
      total: '1000000.603',
      reserved: '0',
      available: '1000000.603',
    });
    expect(settledTo.sequence).to.be.greaterThan(20);
    expect(trialBalance.map(({ asset, sum }: Record<string, string>) => [asset, sum])).to.deep.equal([
      ['BTC', '0'],
      ['ETH', '0'],
      ['USDC', '0'],
    ]);
    const none = await fixture.ask('ledger', 'balances', '--as-of', '2020-01-01');
    expect(none).to.deep.include({ balances: [], trialBalance: [] });
    const { stdout } = await fixture.run('ledger', 'balances', '--as-of', '2100-01-01');
    expect(stdout).to.match(/^ACCOUNT +ASSET +TOTAL +RESERVED +AVAILABLE$/m);
    expect(stdout).to.match(/^ETH +2000000 +0 +0 +0 +-2000000 +0$/m);
  });

  it('shows one wallet and one asset', async () => {
    const { balances } = await fixture.ask(
      'ledger',
      'balances',
      '--as-of',
      '2100-01-01',
      '--wallet',
      MAKER,
      '--asset',
      'ETH',
    );
    expect(balances).to.deep.equal([
      { account: MAKER, asset: 'ETH', total: '999998.397', reserved: '2.397', available: '999996' },
    ]);
  });

  it('shows the statement of a wallet, with all that a tax adviser needs', async () => {
    const { lines } = await fixture.ask('ledger', 'statement', '--wallet', TAKER, ...SPAN);
    const trade = lines.filter(
      ({ kind, market }: Record<string, string>) => kind === 'trade' && market === 'ETH/USDC',
    );
    expect(
      trade
        .slice(0, 2)
        .map(({ time, orderId, tradeId, sequence, ...line }: object & Record<string, string>) => {
          expect([time, orderId, tradeId, sequence].map(Boolean)).to.deep.equal([true, true, true, true]);
          return line;
        }),
    ).to.deep.equal([
      {
        kind: 'trade',
        asset: 'ETH',
        amount: '1',
        market: 'ETH/USDC',
        side: 'buy',
        role: 'taker',
        ...{
          price: '2001',
          size: '1',
          fee: '2.001',
          feeBps: 10,
          counterAsset: 'USDC',
          counterAmount: '-2001',
          reference: null,
          txid: null,
        },
      },
      {
        kind: 'trade',
        asset: 'USDC',
        amount: '-2001',
        market: 'ETH/USDC',
        side: 'buy',
        role: 'taker',
        ...{
          price: '2001',
          size: '1',
          fee: null,
          feeBps: null,
          counterAsset: 'ETH',
          counterAmount: '1',
          reference: null,
          txid: null,
        },
      },
    ]);
    const { stdout } = await fixture.run('ledger', 'statement', '--wallet', TAKER, ...SPAN, '--csv');
    expect(stdout).to.include(
      'time,kind,asset,amount,market,side,role,price,size,fee,fee_bps,counter_asset,counter_amount,order_id,trade_id,reference,sequence,txid,wallet,from,to\n' +
        `2020-01-01T00:00:00.000Z,statement,,,,,,,,,,,,,,,,,${TAKER},2020-01-01T00:00:00.000Z,2100-01-01T00:00:00.000Z\n`,
    );
    expect(stdout).to.match(/^2100-01-01T00:00:00\.000Z,closing,BTC,1000000\.603,/m);
    expect(stdout).to.include(',withdrawal,BTC,-1,,,,,,,,,,,,"out, ""quoted""\nand broken",');
  });

  it('sums fees and volumes, and lists movements', async () => {
    const { fees } = await fixture.ask('ledger', 'fees', ...SPAN, '--by', 'month,market');
    expect(fees.map(({ month, ...sums }: Record<string, string>) => sums)).to.deep.equal(
      MARKETS.toSorted().map((market) => ({
        market,
        asset: 'USDC',
        trades: 2,
        notional: '3208.206',
        fee: '3.208206',
      })),
    );
    const { volumes } = await fixture.ask('ledger', 'volumes', ...SPAN, '--by', 'market');
    expect(volumes[1]).to.deep.equal({
      market: 'ETH/USDC',
      trades: 2,
      baseAsset: 'ETH',
      baseVolume: '1.603',
      quoteAsset: 'USDC',
      quoteVolume: '3208.206',
    });
    const { movements } = await fixture.ask(
      'ledger',
      'movements',
      ...SPAN,
      '--wallet',
      TAKER,
      '--asset',
      'BTC',
    );
    expect(
      movements.map(({ kind, amount, by, reason }: Record<string, string>) => [kind, amount, by, reason]),
    ).to.deep.equal([
      ['deposit', '1000000', userInfo().username, 'not given'],
      ['withdrawal', '1', userInfo().username, 'not given'],
    ]);
  });

  it('names the transaction of a withdrawal on the line that has its amount', async () => {
    for (const reference of ['paid', 'pending'])
      await fixture.ask('withdrawal', 'request', MAKER, 'BTC', '0.5', '--reference', reference);
    await fixture.ask('withdrawal', 'confirm', 'paid', '--txid', '0xfeed');
    await fixture.settle();
    const shown = (rows: Record<string, string>[]) =>
      rows
        .filter(({ kind }) => kind!.startsWith('withdrawal_'))
        .map(({ kind, amount, reference, txid }) => [kind, amount, reference, txid]);
    const { lines } = await fixture.ask('ledger', 'statement', '--wallet', MAKER, ...SPAN);
    expect(shown(lines)).to.deep.equal([
      ['withdrawal_requested', '-0.5', 'paid', '0xfeed'],
      ['withdrawal_requested', '-0.5', 'pending', null],
      ['withdrawal_confirmed', '0', 'paid', '0xfeed'],
    ]);
    const { movements } = await fixture.ask('ledger', 'movements', ...SPAN, '--wallet', MAKER);
    expect(shown(movements)).to.deep.equal([
      ['withdrawal_requested', '0.5', 'paid', '0xfeed'],
      ['withdrawal_requested', '0.5', 'pending', null],
      ['withdrawal_confirmed', '0.5', 'paid', '0xfeed'],
    ]);
  });

  it('begins CSV with a byte order mark when it is asked for', async () => {
    for (const argv of [
      ['balances', '--as-of', '2100-01-01'],
      ['statement', '--wallet', TAKER, ...SPAN],
      ['statement', '--wallet', TAKER, ...SPAN, '--format', 'koinly'],
      ['movements', ...SPAN],
      ['export', ...SPAN],
    ])
      expect((await fixture.run('ledger', ...argv, '--bom')).stdout, argv[0]).to.match(/^\ufeff[A-Za-z_]+,/);
    expect((await fixture.run('acts', '--bom')).stdout).to.match(/^\ufefftime,/);
  });

  it('has one row for a trade, in the columns that Koinly and CoinTracking import', async () => {
    const rowsAs = async (format: string, market: string): Promise<string[]> => {
      const { stdout } = await fixture.run(
        'ledger',
        'statement',
        '--wallet',
        TAKER,
        ...SPAN,
        '--format',
        format,
      );
      const [head, ...rows] = stdout.trimEnd().split('\n');
      return [head!, ...rows.filter((row) => row.includes(market)).slice(0, 1)].map((row) =>
        row
          .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, 'TIME')
          .replace(/trade(.)\d+/g, 'trade$1N')
          .replace(/order [0-9a-f]{34}/, 'order ID'),
      );
    };
    expect(await rowsAs('koinly', 'ETH/USDC')).to.deep.equal([
      'Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,Net Worth Amount,Net Worth Currency,Label,Description,TxHash',
      'TIME UTC,2001,USDC,1,ETH,2.001,USDC,,,,"ETH/USDC trade N, order ID",',
    ]);
    expect(await rowsAs('cointracking', 'ETH/USDC')).to.deep.equal([
      'Type,Buy Amount,Buy Currency,Sell Amount,Sell Currency,Fee,Fee Currency,Exchange,Trade-Group,Comment,Date,Tx-ID',
      `Trade,1,ETH,2003.001,USDC,2.001,USDC,Redbook ${TAKER},ETH/USDC,"ETH/USDC trade N, order ID",TIME,trade-N-taker`,
    ]);
    expect(
      await fixture.run('ledger', 'statement', '--wallet', TAKER, ...SPAN, '--format', 'pdf'),
    ).to.include({
      status: 2,
    });
  });

  it('closes a month once, and no month that is not over', async () => {
    const settling = fixture.settleOnAndOn();
    expect(await fixture.refuse('ledger', 'close', '2020-02')).to.equal('MONTH_EMPTY');
    const past = await fixture.ask('ledger', 'close', '2020-02', '--empty');
    expect(past).to.include({ month: '2020-02', end: '2020-03-01T00:00:00.000Z', balances: 0, isNew: true });
    const { isNew, checkpoint, ...same } = await fixture.ask('ledger', 'close', '2020-02');
    expect(past).to.deep.include(same);
    expect(checkpoint).to.include({ sequence: past.checkpoint.sequence, head: past.checkpoint.head });
    expect(isNew).to.equal(false);
    expect((await fixture.ask('ledger', 'closings')).closings).to.have.length(1);
    const closings = (await fixture.ask('acts')).acts.filter(
      ({ act }: { act: string }) => act === 'ledger close',
    );
    expect(
      closings.map(({ subject, after }: { subject: string; after: string }) => [subject, after]),
    ).to.deep.equal([['2020-02', past.digest]]);
    const reopen = ['ledger', 'reopen', '2020-02'];
    expect((await fixture.run(...reopen)).status).to.equal(2);
    const reopened = await fixture.ask(...reopen, '--reason', 'a wrong month');
    expect(reopened).to.include({ month: '2020-02', digest: past.digest, isNew: true });
    const lists = await fixture.ask('ledger', 'closings');
    expect(lists.closings).to.deep.equal([]);
    expect(lists.reopened).to.have.length(1);
    expect(lists.reopened[0]).to.include({ digest: past.digest, reopenedAt: reopened.reopenedAt });
    expect(await fixture.refuse('ledger', 'reopen', '2020-03', '--reason', 'none')).to.equal('NOT_CLOSED');
    await settling.stop();
    expect(await fixture.refuse('ledger', 'close', '2090-01')).to.equal('MONTH_NOT_OVER');
  });

  it('closes no month that is over by the clock of this machine alone', async () => {
    const { now } = Date;
    Date.now = () => Date.UTC(2091, 0);
    try {
      expect(await fixture.refuse('ledger', 'close', '2090-01')).to.equal('MONTH_NOT_OVER');
    } finally {
      Date.now = now;
    }
  });

  it('refuses reports on an asset that nobody knows', async () => {
    for (const argv of [
      ['balances', '--as-of', '2026-01-01'],
      ['movements', ...SPAN],
      ['export', ...SPAN],
    ])
      expect(await fixture.refuse('ledger', ...argv, '--asset', 'usdc'), argv[0]).to.equal('UNKNOWN_ASSET');
  });
});

describe('operator: checkpoints', () => {
  let fixture: OperatorFixture;
  const folder = mkdtempSync(join(tmpdir(), 'redbook-checkpoints-'));
  const key = join(folder, 'key.pem');
  const other = join(folder, 'other.pem');
  before(async () => {
    fixture = await openBusyFixture();
    for (const file of [key, other])
      writeFileSync(file, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  });
  after(async () => {
    await fixture.close();
    rmSync(folder, { recursive: true });
  });

  const checkpoint = async (...argv: string[]): Promise<string> => {
    const { status, stdout, stderr } = await fixture.run('ledger', 'checkpoint', ...argv);
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    return stdout;
  };
  const kept = (text: string): string => {
    const file = join(folder, 'checkpoints');
    writeFileSync(file, text);
    return file;
  };

  it('are one line with head, totals and signature', async () => {
    const line = await checkpoint('--key', key);
    expect(line).to.match(/^[^\n]+\n$/);
    const document = JSON.parse(line);
    const { sequence } = await fixture.ledger.checks.cursor();
    expect(document).to.include({ sequence });
    expect(document.totals).to.deep.equal({ BTC: '1999999', ETH: '2000000', USDC: '2000000' });
    expect(Object.keys(document).slice(-2)).to.deep.equal(['publicKey', 'signature']);
    expect(Object.keys(JSON.parse(await checkpoint()))).not.to.include('signature');
    const path = (await checkpoint('--to', folder)).trimEnd();
    expect(JSON.parse(readFileSync(path, 'utf8'))).to.include({ sequence });
  });

  it('hold when the ledger goes on', async () => {
    const lines = [await checkpoint('--key', key)];
    await fixture.place({ wallet: TAKER, price: '1' });
    await fixture.settle();
    lines.push(await checkpoint('--key', key));
    await fixture.place({ wallet: TAKER, price: '1' });
    await fixture.settle();
    const file = kept(lines.join('\n'));
    const { holds, checks } = await fixture.ask('ledger', 'reconcile', '--since', file, '--key', key);
    expect(holds).to.equal(true);
    expect(checks.map(({ name }: { name: string }) => name)).to.include('records of the checkpoint');
  });

  it('name what differs, and are refused when somebody else signed them', async () => {
    const line = await checkpoint('--key', key);
    const changed = { ...JSON.parse(await checkpoint()), head: 'A'.repeat(43) };
    const { status, stdout } = await fixture.run(
      'ledger',
      'reconcile',
      '--since',
      kept(JSON.stringify(changed)),
    );
    expect(status).to.equal(1);
    expect(stdout).to.match(/checkpoint at event \d+\n +expected A{43}/);
    const later = { ...JSON.parse(await checkpoint()), sequence: changed.sequence + 5 };
    expect(
      (await fixture.run('ledger', 'reconcile', '--since', kept(JSON.stringify(later)))).stdout,
    ).to.include('no such event');
    const refused = (...argv: string[]) => fixture.refuse('ledger', 'reconcile', '--since', ...argv);
    const forged = JSON.stringify({ ...JSON.parse(line), sequence: 1 });
    expect(await refused(kept(forged))).to.equal('INVALID_CHECKPOINT');
    expect(await refused(kept(line), '--key', other)).to.equal('INVALID_CHECKPOINT');
    expect(await refused(kept(await checkpoint()), '--key', key)).to.equal('INVALID_CHECKPOINT');
    expect(await refused(kept('no JSON'))).to.equal('INVALID_CHECKPOINT');
    expect(await refused(kept(''))).to.equal('INVALID_CHECKPOINT');
    expect(await refused(join(folder, 'nothing'))).to.equal('FILE_NOT_READ');
    expect(await refused(kept(line), '--key', kept(line))).to.equal('INVALID_KEY');
  });
});

describe('operator: status', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openBusyFixture();
  });
  after(() => fixture.close());

  it('reports the lag of settlement and everything else that is known', async () => {
    const { sequence } = await fixture.engine.reads.state();
    const quiet = await fixture.ask('status');
    expect(quiet.engine).to.include({ epoch: 1, sequence, paused: false, requiredTerms: null });
    expect(quiet.settlement).to.deep.include({ epoch: 1, sequence, lag: { events: 0, seconds: 0 } });
    expect(quiet.markets).to.deep.equal(
      MARKETS.map((symbol) => ({ symbol, status: 'active', tradingEnabled: true })),
    );
    expect(quiet).to.include({ queue: null, replicas: null, snapshotAgeMs: null, copies: null });

    await fixture.place({ wallet: TAKER, price: '1' });
    await fixture.place({ wallet: TAKER, price: '1' });
    const { settlement } = await fixture.ask('status');
    expect(settlement.lag.events).to.equal(2);
    expect(settlement.lag.seconds).to.be.within(0, 5);
    await fixture.settle();
  });

  it('prints the status for people', async () => {
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

  it('leaves out what cannot be known', async () => {
    const queueCounts = async (): Promise<never> => {
      throw new Error('no queue');
    };
    Object.assign(fixture.services, { queueCounts });
    expect(await fixture.ask('status')).to.include({ queue: null });
  });

  it('reports what it can while a server is away, and exits with a failure', async () => {
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
