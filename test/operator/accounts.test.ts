/** Tests operator commands that credit, debit, hold, release and show accounts. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import { instead } from '../support/instead.ts';
import { marketRules, type OperatorFixture, openOperatorFixture, WALLET } from './fixture.ts';

const ALICE = WALLET('a');
const BOB = WALLET('b');

describe('operator: accounts', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openOperatorFixture();
    await fixture.ask('asset', 'set', 'USDC', '--scale', '6');
    await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
  });
  after(() => fixture.close());

  const credit = (...argv: string[]): string[] => ['account', 'credit', ...argv];
  const debit = (...argv: string[]): string[] => ['account', 'debit', ...argv];

  it('credits an exact amount to a wallet written in any case', async () => {
    const document = await fixture.ask(
      ...credit(ALICE.toUpperCase().replace('0X', '0x'), 'USDC', '9007199254.740993', '--reference', 'in-1'),
    );
    expect(document).to.deep.equal({
      kind: 'credited',
      wallet: ALICE,
      asset: 'USDC',
      reference: 'in-1',
      amount: '9007199254.740993',
      duplicate: false,
    });
    const { stdout } = await fixture.run(...credit(BOB, 'ETH', '3', '--reference', 'in-2'));
    expect(stdout).to.equal(`credited 3 ETH to ${BOB} (reference in-2)\n`);
  });

  it('counts a reference once, and reports a repetition', async () => {
    const again = credit(BOB, 'ETH', '3.0', '--reference', 'in-2');
    expect(await fixture.ask(...again)).to.include({ amount: '3', duplicate: true });
    expect((await fixture.run(...again)).stdout).to.contain('nothing moved');
    expect((await fixture.ask('account', 'show', BOB)).balances).to.deep.equal([
      { asset: 'ETH', total: '3', available: '3', reserved: '0', receivable: '0' },
    ]);
  });

  it('keeps references of credits and debits apart', async () => {
    expect(await fixture.ask(...debit(BOB, 'ETH', '0.5', '--reference', 'in-2'))).to.include({
      kind: 'debited',
      amount: '0.5',
      duplicate: false,
    });
  });

  it('rejects a reference that stands for another movement', async () => {
    for (const other of [
      credit(BOB, 'ETH', '4', '--reference', 'in-2'),
      credit(ALICE, 'ETH', '3', '--reference', 'in-2'),
      credit(BOB, 'USDC', '3', '--reference', 'in-2'),
      debit(BOB, 'ETH', '3', '--reference', 'in-2'),
    ]) {
      expect(await fixture.refuse(...other)).to.equal('REFERENCE_CONFLICT');
    }
  });

  it('makes one of twenty concurrent deposits with the same reference', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        fixture.ask(...credit(WALLET('c'), 'ETH', '7', '--reference', 'once')),
      ),
    );
    expect(answers.filter(({ duplicate }) => !duplicate)).to.have.length(1);
    expect((await fixture.ask('account', 'show', WALLET('c'))).balances[0].total).to.equal('7');
  });

  it('finds a reference in Postgres when Redis has forgotten it', async () => {
    await fixture.settle();
    for (const key of await fixture.redis.keys('{redbook}:claims:*')) await fixture.redis.del(key);
    expect(await fixture.ask(...credit(BOB, 'ETH', '3', '--reference', 'in-2'))).to.include({
      duplicate: true,
    });
    expect(await fixture.refuse(...credit(BOB, 'ETH', '5', '--reference', 'in-2'))).to.equal(
      'REFERENCE_CONFLICT',
    );
    const fresh = credit(WALLET('d'), 'ETH', '1', '--reference', 'after forgetting');
    expect(await fixture.ask(...fresh)).to.include({ duplicate: false });
  });

  for (const [why, code, ...argv] of [
    ['an amount finer than the atom', 'INVALID_AMOUNT', ...credit(BOB, 'USDC', '0.0000001')],
    ['an amount of 0', 'INVALID_AMOUNT', ...credit(BOB, 'USDC', '0')],
    ['a negative amount', 'INVALID_AMOUNT', ...credit(BOB, 'USDC', '-5')],
    ['a negative withdrawal', 'INVALID_AMOUNT', ...debit(BOB, 'ETH', '-1')],
    ['an amount past 2^62 atoms', 'INVALID_AMOUNT', ...credit(BOB, 'USDC', `1${'0'.repeat(300)}`)],
    ['a supply past 2^62 atoms', 'SUPPLY_LIMIT', ...credit(BOB, 'USDC', '4611686018427')],
    ['an unknown asset', 'UNKNOWN_ASSET', ...credit(BOB, 'DOGE', '1')],
    ['an asset in lower case', 'UNKNOWN_ASSET', ...credit(BOB, 'usdc', '1')],
    ['to withdraw what is not there', 'INSUFFICIENT_BALANCE', ...debit(BOB, 'ETH', '2.50000001')],
  ] as const) {
    it(`rejects ${why}`, async () => {
      expect(await fixture.refuse(...argv, '--reference', `refused: ${why}`)).to.equal(code);
    });
  }

  it('rejects references that are no valid text', async () => {
    for (const reference of ['', 'x'.repeat(257), 'a\0b', '\ud800']) {
      expect(await fixture.refuse(...credit(BOB, 'ETH', '1', '--reference', reference))).to.equal(
        'INVALID_REFERENCE',
      );
    }
  });

  it('requests, confirms, returns and lists withdrawals that custody pays later', async () => {
    const wallet = WALLET('7');
    await fixture.ask(...credit(wallet, 'ETH', '3', '--reference', 'two steps'));
    const request = ['withdrawal', 'request', wallet, 'ETH', '1.5', '--reference', 'slow'];
    expect(await fixture.ask(...request)).to.include({ amount: '1.5', state: 'pending', duplicate: false });
    expect(await fixture.ask(...request)).to.include({ state: 'pending', duplicate: true });
    await fixture.ask('withdrawal', 'request', wallet, 'ETH', '1', '--reference', 'wrong');
    await fixture.settle();
    const pending = async () => (await fixture.ask('withdrawal', 'list')).withdrawals;
    expect((await pending()).map(({ reference }: { reference: string }) => reference)).to.deep.equal([
      'slow',
      'wrong',
    ]);
    const confirm = ['withdrawal', 'confirm', 'slow', '--txid', '0x1'];
    expect(await fixture.ask(...confirm)).to.include({ state: 'confirmed', txid: '0x1' });
    expect(await fixture.ask(...confirm)).to.include({ duplicate: true });
    expect((await fixture.run('withdrawal', 'return', 'slow', '--reason', 'a test')).stderr).to.equal(
      'REFERENCE_CONFLICT: the withdrawal slow was confirmed before, paid by 0x1\n',
    );
    expect(await fixture.refuse('withdrawal', 'return', 'none', '--reason', 'a test')).to.equal(
      'UNKNOWN_WITHDRAWAL',
    );
    expect((await fixture.run('withdrawal', 'return', 'wrong', '--reason', 'a test')).stdout).to.equal(
      `withdrawal wrong of 1 ETH for ${wallet} is returned\n`,
    );
    await fixture.settle();
    expect(await pending()).to.deep.equal([]);
    expect(await fixture.ask('withdrawal', 'show', 'slow')).to.include({ state: 'confirmed' });
    const [balance] = (await fixture.ask('account', 'show', wallet)).balances;
    expect(balance).to.include({ asset: 'ETH', total: '1.5', available: '1.5' });
  });

  it('shows balances and live orders, settled or not', async () => {
    const settled = await fixture.place({
      wallet: ALICE,
      price: '2000',
      size: '1',
      clientOrderId: 'mine \u001b[2J',
    });
    await fixture.settle();
    const unsettled = await fixture.place({ wallet: ALICE, price: '1990.5', size: '2' });
    await fixture.place({ wallet: BOB, side: 'sell', price: '2000', size: '0.25' });
    const gone = await fixture.place({ wallet: ALICE, price: '1' });
    await fixture.engine.orders.cancel(ALICE, gone.order.id);
    const expected = [
      {
        id: unsettled.order.id,
        market: 'ETH/USDC',
        side: 'buy',
        price: '1990.5',
        size: '2',
        remaining: '2',
        clientOrderId: null,
      },
      {
        id: settled.order.id,
        market: 'ETH/USDC',
        side: 'buy',
        price: '2000',
        size: '1',
        remaining: '0.75',
        clientOrderId: 'mine \u001b[2J',
      },
    ];
    const shown = await fixture.ask('account', 'show', ALICE);
    expect(shown).to.deep.include({ wallet: ALICE, held: false, liveOrders: expected });
    expect(shown.balances).to.deep.include({
      asset: 'USDC',
      total: '9007198754.740993',
      available: '9007193273.740993',
      reserved: '5481',
      receivable: '0',
    });
    await fixture.settle();
    expect((await fixture.ask('account', 'show', ALICE)).liveOrders).to.deep.equal(expected);
  });

  it('escapes characters that could command a terminal', async () => {
    const { stdout } = await fixture.run('account', 'show', ALICE);
    expect(stdout).to.contain('mine \\u{1b}[2J').and.not.to.contain('\u001b');
  });

  it('withdraws only what is available', async () => {
    const total = debit(ALICE, 'USDC', '9007198754', '--reference', 'everything');
    expect(await fixture.refuse(...total)).to.equal('INSUFFICIENT_BALANCE');
  });

  it('puts an account on hold and releases it', async () => {
    const held = await fixture.ask('account', 'hold', ALICE, '--reason', 'a test');
    expect(held).to.include({ wallet: ALICE, held: true, count: 2 });
    expect(held.cancelled.map(({ status }: { status: string }) => status)).to.have.members([
      'cancelled',
      'partially_filled_cancelled',
    ]);
    expect(await fixture.ask('account', 'show', ALICE)).to.deep.include({ held: true, liveOrders: [] });
    expect(await fixture.refuse(...debit(ALICE, 'USDC', '1', '--reference', 'held'))).to.equal(
      'CUSTODY_HOLD',
    );
    expect(await fixture.ask('account', 'hold', ALICE, '--reason', 'a test')).to.include({
      held: true,
      count: 0,
    });
    expect(await fixture.ask('account', 'release', ALICE, '--reason', 'a test')).to.deep.equal({
      wallet: ALICE,
      held: false,
    });
    await fixture.ask(...debit(ALICE, 'USDC', '1', '--reference', 'held'));
  });

  describe('acts', () => {
    const acts = async (...argv: string[]): Promise<Record<string, unknown>[]> => {
      await fixture.settle();
      return (await fixture.ask('acts', ...argv)).acts;
    };
    const WHO = ['--by', 'dora', '--reason', 'audit, "quoted"'];
    const MARKET = 'SOL/USDC';

    it('shows each kind of change with author, reason and what there was before', async () => {
      const wallet = WALLET('e');
      const change = (...argv: string[]): Promise<Record<string, string>> => fixture.ask(...argv, ...WHO);
      await change('asset', 'set', 'SOL', '--scale', '4');
      await change('market', 'create', MARKET, ...marketRules());
      await change('market', 'set', MARKET, '--fee-bps', '77', '--reference-price', '150');
      for (const amount of ['5000', '1', '1'])
        await change(...credit(wallet, 'USDC', amount, '--reference', `act ${amount}`));
      await change(...debit(wallet, 'USDC', '0.5', '--reference', 'act 0.5'));
      const { order } = await fixture.place({ wallet, size: '1' });
      await change('order', 'void', order.id);
      expect(await fixture.refuse('order', 'void', order.id, ...WHO)).to.equal('ORDER_NOT_FOUND');
      for (const verb of ['hold', 'hold', 'release']) await change('account', verb, wallet);
      for (const verb of ['pause', 'resume']) await change('trading', verb);
      for (const version of ['v1', 'v2']) await change('terms', 'require', version);
      await change('terms', 'off');
      await change('market', 'set', MARKET, '--status', 'halted');
      await change('market', 'clear', MARKET);
      const found = await acts('--by', 'dora');
      expect(new Set(found.map(({ reason }) => reason))).to.deep.equal(new Set(['audit, "quoted"']));
      const created = String(found[1]?.after);
      expect(created).to.contain('feeBps=10').and.to.contain('status=active');
      const about = ['act', 'wallet', 'market', 'asset', 'subject', 'before', 'after'];
      expect(found.map((one) => about.map((name) => one[name] ?? '-').join(' | '))).to.deep.equal([
        'asset set | - | - | SOL | - | - | 4',
        `market create | - | ${MARKET} | - | - | - | ${created}`,
        `market set | - | ${MARKET} | - | - | feeBps=10 referencePrice=null | feeBps=77 referencePrice=150`,
        `account credit | ${wallet} | - | USDC | act 5000 | 0 | 5000`,
        `account credit | ${wallet} | - | USDC | act 1 | 5000 | 5001`,
        `account debit | ${wallet} | - | USDC | act 0.5 | 5001 | 5000.5`,
        `order void | ${wallet} | ETH/USDC | - | ${order.id} | - | -`,
        `account hold | ${wallet} | - | - | - | - | on`,
        `account release | ${wallet} | - | - | - | on | -`,
        'trading pause | - | - | - | - | - | on',
        'trading resume | - | - | - | - | on | -',
        'terms require | - | - | - | - | - | v1',
        'terms require | - | - | - | - | v1 | v2',
        'terms off | - | - | - | - | v2 | -',
        `market set | - | ${MARKET} | - | - | status=active | status=halted`,
        `market clear | - | ${MARKET} | - | - | - | -`,
      ]);
    });

    it('filters by wallet, market and time, and prints CSV', async () => {
      expect(await acts('--wallet', WALLET('e'))).to.have.length(6);
      const ofMarket = await acts('--market', MARKET);
      expect(ofMarket).to.have.length(4);
      const since = await acts('--market', MARKET, '--since', String(ofMarket.at(-1)?.time));
      expect(since.at(-1)).to.deep.equal(ofMarket.at(-1));
      expect(await acts('--since', '2100-01-01')).to.deep.equal([]);
      const { stdout } = await fixture.run('acts', '--csv', '--by', 'dora');
      expect(stdout)
        .to.match(/^time,event,act,by,reason,/)
        .and.to.contain(',dora,"audit, ""quoted""",');
    });

    it("names the system's user, and says that no reason was given", async () => {
      await fixture.ask(...credit(WALLET('e'), 'USDC', '1', '--reference', 'act without a reason'));
      expect((await acts('--wallet', WALLET('e'))).at(-1)).to.include({
        by: userInfo().username,
        reason: 'not given',
      });
    });

    it('requires a reason where money or an account is touched without a reference of its own', async () => {
      for (const command of [
        ['account', 'hold', BOB],
        ['account', 'release', BOB],
        ['order', 'void', '0'.repeat(34)],
        ['market', 'clear', MARKET],
        ['trading', 'pause'],
        ['trading', 'resume'],
        ['withdrawal', 'return', 'slow'],
        debit(BOB, 'USDC', '1', '--reference', 'unexplained', '--reverses', 'wrong'),
      ]) {
        const { status, stderr } = await fixture.run(...command);
        expect([status, stderr.includes('--reason')], command.join(' ')).to.deep.equal([2, true]);
      }
      expect((await fixture.ask('account', 'show', BOB)).held).to.equal(false);
    });

    it('rejects names and reasons that are too long', async () => {
      for (const words of [
        ['--by', 'x'.repeat(129)],
        ['--reason', 'x'.repeat(257)],
      ])
        expect((await fixture.run('trading', 'pause', ...words)).status).to.equal(2);
      expect(await fixture.services.engine.reads.state()).to.include({ paused: false });
    });
  });

  describe('reversals', () => {
    const wallet = WALLET('f');
    const reversal = (...argv: string[]): string[] => [...argv, '--by', 'dora', '--reason', 'a wrong credit'];
    before(async () => {
      await fixture.ask(...credit(wallet, 'ETH', '5', '--reference', 'wrong'));
    });

    it('rejects a reversal of an unknown movement, of another wallet or asset, and of more', async () => {
      const settling = fixture.settleOnAndOn();
      try {
        for (const [code, ...rest] of [
          ['UNKNOWN_MOVEMENT', wallet, 'ETH', '1', '--reverses', 'never'],
          ['UNKNOWN_MOVEMENT', wallet, 'ETH', '1', '--reverses', 'mend'],
          ['NO_REVERSAL', BOB, 'ETH', '1', '--reverses', 'wrong'],
          ['NO_REVERSAL', wallet, 'USDC', '1', '--reverses', 'wrong'],
          ['NO_REVERSAL', wallet, 'ETH', '5.1', '--reverses', 'wrong'],
          ['INVALID_REFERENCE', wallet, 'ETH', '5', '--reverses', ''],
        ] as const)
          expect(
            await fixture.refuse(...reversal(...debit(...rest, '--reference', 'mend'))),
            rest.join(' '),
          ).to.equal(code);
      } finally {
        await settling.stop();
      }
    });

    it('reverses a movement in parts up to its amount, whoever asks at the same time', async () => {
      const settling = fixture.settleOnAndOn();
      try {
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, (_none, nth) =>
            fixture.run(
              ...reversal(...debit(wallet, 'ETH', '2', '--reference', `mend ${nth}`, '--reverses', 'wrong')),
            ),
          ),
        );
        const [first, second, ...refused] = outcomes.sort((one, other) => one.status - other.status);
        for (const { status, stderr } of [first!, second!]) expect(status, stderr).to.equal(0);
        for (const { status, stderr } of refused) {
          expect(status).to.equal(1);
          expect(stderr).to.match(/^ALREADY_REVERSED/);
        }
      } finally {
        await settling.stop();
      }
      expect((await fixture.ask('account', 'show', wallet)).balances[0].total).to.equal('1');
    });

    it('finds reversals in Postgres when Redis has forgotten it', async () => {
      await fixture.settle();
      for (const key of await fixture.redis.keys('{redbook}:claims:*')) await fixture.redis.del(key);
      const late = ['--reference', 'mend late', '--reverses', 'wrong'];
      expect(await fixture.refuse(...reversal(...debit(wallet, 'ETH', '1.1', ...late)))).to.equal(
        'ALREADY_REVERSED',
      );
      const { movements } = await fixture.ask(
        'ledger',
        'movements',
        '--from',
        '2020-01-01',
        '--to',
        '2100-01-01',
        '--wallet',
        wallet,
      );
      expect(movements.map(({ reverses }: { reverses: string | null }) => reverses)).to.deep.equal([
        null,
        'wrong',
        'wrong',
      ]);
    });

    it('repeats under the same reference, and conflicts without the reversal', async () => {
      const { movements } = await fixture.ask(
        'ledger',
        'movements',
        '--from',
        '2020-01-01',
        '--to',
        '2100-01-01',
        '--wallet',
        wallet,
      );
      const again = debit(wallet, 'ETH', '2', '--reference', movements[1].reference);
      expect(await fixture.ask(...reversal(...again, '--reverses', 'wrong'))).to.include({ duplicate: true });
      expect(await fixture.refuse(...again)).to.equal('REFERENCE_CONFLICT');
      const { checks } = await fixture.ledger.checks.run(() => undefined, []);
      expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    });
  });

  it('shows a wallet without any history', async () => {
    expect(await fixture.ask('account', 'show', WALLET(9))).to.deep.equal({
      wallet: WALLET(9),
      held: false,
      terms: { accepted: null, required: null },
      balances: [],
      liveOrders: [],
    });
  });

  it('says what to do when the outcome of a movement is unknown', async () => {
    const { services } = fixture;
    const move = async (): Promise<never> => {
      throw new Refusal('SERVICE_UNAVAILABLE', 'the matching engine is temporarily unavailable');
    };
    const engine = { ...services.engine, funds: instead(services.engine.funds, { move }) };
    Object.assign(fixture, { services: { ...services, engine } });
    const { status, stderr } = await fixture.run(...credit(BOB, 'ETH', '1', '--reference', 'lost'));
    Object.assign(fixture, { services });
    expect(status).to.equal(1);
    expect(stderr).to.match(
      /^SERVICE_UNAVAILABLE: .*outcome is unknown: repeat .* same reference, which counts only once/,
    );
  });

  describe('a file of lines', () => {
    it('is booked line by line, with an answer for each, and fails if one was refused', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'redbook-lines-'));
      const file = join(folder, 'lines.jsonl');
      const line = (reference: string, more: object = {}): string =>
        JSON.stringify({ reference, wallet: WALLET('8'), asset: 'USDC', amount: '1.5', ...more });
      const lines = Array.from({ length: 150 }, (_none, at) => line(`line ${at % 140}`));
      const run = async (...rest: string[]) => {
        writeFileSync(file, `${[...lines, ...rest].join('\n')}\n\n`);
        const { status, stdout, stderr } = await fixture.run('account', 'credit', '--file', file);
        return {
          status,
          stderr,
          answers: stdout
            .trim()
            .split('\n')
            .map((text) => JSON.parse(text)),
        };
      };
      const whole = await run();
      expect([whole.status, whole.stderr, whole.answers.length]).to.deep.equal([0, '', 150]);
      expect(whole.answers.filter(({ duplicate }) => !duplicate)).to.have.length(140);
      const rest = [
        line('line 1', { amount: '2' }),
        line('number', { amount: 1.5 }),
        line('unknown', { asset: 'DOGE' }),
        line('of another kind', { kind: 'withdrawal' }),
        line('a reversal', { reverses: 'line 2' }),
        'no JSON',
        'x'.repeat(20_000),
      ];
      const refused = await run(...rest, line('last'));
      expect(refused.status).to.equal(1);
      expect(refused.stderr).to.contain('LINES_REFUSED: 7 of 158 movements were refused');
      expect(refused.answers.slice(150).map(({ code }) => code)).to.deep.equal([
        'REFERENCE_CONFLICT',
        'INVALID_LINE',
        'UNKNOWN_ASSET',
        'INVALID_LINE',
        'INVALID_LINE',
        'INVALID_LINE',
        'INVALID_LINE',
        undefined,
      ]);
      expect((await fixture.ask('account', 'show', WALLET('8'))).balances[0].total).to.equal('211.5');
      expect((await fixture.run('account', 'credit', '--file', join(folder, 'none'))).status).to.equal(1);
      expect((await fixture.run('account', 'credit', BOB, '--file', file)).status).to.equal(2);
      expect((await fixture.run('account', 'credit', BOB, 'ETH', '1')).status).to.equal(2);
      rmSync(folder, { recursive: true });
    });
  });
});
