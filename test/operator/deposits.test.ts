/** Tests deposits that are announced first, and deposits that are gone: reversals, and what wallets owe since. */

import { expect } from 'chai';
import { KEYS } from '../../src/engine/keys.ts';
import { marketRules, type OperatorFixture, openOperatorFixture, WALLET } from './fixture.ts';

const WHY = ['--reason', 'a test'];
const SPAN = ['--from', '2020-01-01', '--to', '2100-01-01'];

describe('operator: deposits that are gone', () => {
  const wallet = WALLET('a');
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openOperatorFixture();
    await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
  });
  after(() => fixture.close());

  const credit = (...argv: string[]): string[] => ['account', 'credit', wallet, ...argv];
  const debit = (...argv: string[]): string[] => ['account', 'debit', wallet, ...argv];
  const take = (reference: string): string[] => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    return ['withdrawal', 'take', reference, '--by', 'payer', '--until', until];
  };
  /** Carries out a command that looks into Postgres, and settles what it made. */
  const settled = async (...argv: string[]) => {
    await fixture.settle();
    const document = await fixture.ask(...argv);
    await fixture.settle();
    return document;
  };
  const ethOf = async () =>
    (await fixture.ask('account', 'show', wallet)).balances.find(
      ({ asset }: { asset: string }) => asset === 'ETH',
    );
  const expectBooksHold = async (): Promise<void> => {
    const { status, stdout } = await fixture.run('ledger', 'reconcile');
    expect(status, stdout).to.equal(0);
  };

  it('takes a spent deposit back from a held wallet, which owes what is not there', async () => {
    await fixture.ask(...credit('ETH', '10', '--reference', 'gone'));
    await fixture.ask(...credit('USDC', '100', '--reference', 'there'));
    await fixture.ask('withdrawal', 'request', wallet, 'ETH', '2', '--reference', 'slow');
    await fixture.ask('withdrawal', 'request', wallet, 'USDC', '1', '--reference', 'slow too');
    await fixture.ask(...debit('ETH', '5', '--reference', 'spent'));
    await fixture.ask('account', 'hold', wallet, '--reason', 'a reorganisation');
    const part = await settled(...debit('ETH', '4', '--reference', 'part 1', '--reverses', 'gone', ...WHY));
    expect(part).to.include({ amount: '4', receivable: '1', duplicate: false });
    const { stdout } = await fixture.run(
      ...debit('ETH', '6', '--reference', 'part 2', '--reverses', 'gone', ...WHY),
    );
    expect(stdout).to.equal(`debited 6 ETH from ${wallet}, of which it owes 6 ETH (reference part 2)\n`);
    expect(
      await settled(...debit('ETH', '4', '--reference', 'part 1', '--reverses', 'gone', ...WHY)),
    ).to.deep.equal({
      ...part,
      duplicate: true,
    });
    expect(await ethOf()).to.deep.include({ total: '0', available: '0', receivable: '7' });
    expect(
      await fixture.refuse(...debit('ETH', '0.1', '--reference', 'part 3', '--reverses', 'gone', ...WHY)),
    ).to.equal('ALREADY_REVERSED');
    await expectBooksHold();
  });

  it('refuses each withdrawal of a wallet that owes, in any asset, and books what has left', async () => {
    await fixture.ask('account', 'release', wallet, '--reason', 'it may trade again');
    expect(await fixture.refuse(...debit('USDC', '1', '--reference', 'no'))).to.equal('RECEIVABLE_OPEN');
    const request = ['withdrawal', 'request', wallet, 'USDC', '1', '--reference', 'no'];
    expect(await fixture.refuse(...request)).to.equal('RECEIVABLE_OPEN');
    expect(await fixture.refuse(...take('slow'))).to.equal('RECEIVABLE_OPEN');
    const confirmed = await fixture.ask('withdrawal', 'confirm', 'slow too', '--txid', '0x1');
    expect(confirmed).to.include({ state: 'confirmed' });
  });

  it('pays what a wallet owes first, by what comes back and by deposits of the asset', async () => {
    await fixture.ask('withdrawal', 'return', 'slow', '--reason', 'not paid');
    expect(await ethOf()).to.deep.include({ total: '0', receivable: '5' });
    expect(await fixture.ask(...credit('USDC', '5', '--reference', 'other asset'))).not.to.have.property(
      'receivable',
    );
    const { stdout } = await fixture.run(...credit('ETH', '4', '--reference', 'pays'));
    expect(stdout).to.equal(
      `credited 4 ETH to ${wallet}, of which 4 ETH paid what it owed (reference pays)\n`,
    );
    expect(await fixture.refuse(...debit('USDC', '1', '--reference', 'no'))).to.equal('RECEIVABLE_OPEN');
    expect(await fixture.ask(...credit('ETH', '3', '--reference', 'pays the rest'))).to.include({
      receivable: '1',
    });
    expect(await ethOf()).to.deep.include({ total: '2', available: '2', receivable: '0' });
    expect(await fixture.ask(...debit('USDC', '1', '--reference', 'no'))).to.include({ amount: '1' });
    await fixture.settle();
    await expectBooksHold();
  });

  it('takes a wrong reversal back, which pays what it made the wallet owe', async () => {
    await fixture.ask(...credit('ETH', '1', '--reference', 'right'));
    await fixture.ask(...debit('ETH', '3', '--reference', 'spends all'));
    await settled(...debit('ETH', '1', '--reference', 'wrong', '--reverses', 'right', ...WHY));
    const back = await settled(
      ...credit('ETH', '1', '--reference', 'right again', '--reverses', 'wrong', ...WHY),
    );
    expect(back).to.include({ receivable: '1' });
    expect(await ethOf()).to.deep.include({ total: '0', receivable: '0' });
  });

  it('shows what is owed in statements, movements, entries and balances', async () => {
    const { lines, closing } = await statement();
    expect(lines.slice(2, 5)).to.deep.equal([
      ['withdrawal', '-5', 'spent'],
      ['withdrawal', '-4', 'part 1'],
      ['receivable', '1', 'part 1'],
    ]);
    const sum = lines.reduce((total: number, [, amount]: string[]) => total + Number(amount), 0);
    expect(sum).to.equal(Number(closing));
    const { movements } = await fixture.ask('ledger', 'movements', ...SPAN, '--asset', 'ETH');
    expect(
      movements.map(({ reference, receivable }: Record<string, string>) => [reference, receivable]),
    ).to.deep.include.members([
      ['part 1', '1'],
      ['part 2', '6'],
      ['slow', '2'],
    ]);
    const { entries } = await fixture.ask('ledger', 'export', ...SPAN, '--asset', 'ETH');
    const owed = entries.filter(({ account }: { account: string }) => account === `receivable:${wallet}`);
    expect(owed.map(({ amount }: { amount: string }) => amount)).to.deep.equal([
      '-1',
      '-6',
      '2',
      '4',
      '1',
      '-1',
      '1',
    ]);
    await settled(...debit('ETH', '1', '--reference', 'last', '--reverses', 'right again', ...WHY));
    const [act] = (await fixture.ask('acts', '--since', '2020-01-01', '--wallet', wallet)).acts.filter(
      ({ subject }: { subject: string }) => subject === 'part 1',
    );
    expect(act).to.deep.include({ before: '3', after: '0' });
    const { trialBalance } = await fixture.ask('ledger', 'balances', '--as-of', '2100-01-01');
    expect(trialBalance[0]).to.deep.include({ asset: 'ETH', receivables: '-1', sum: '0' });
  });

  /** The lines and the closing balance in ETH. */
  async function statement() {
    const { lines } = await fixture.ask('ledger', 'statement', ...SPAN, '--wallet', wallet);
    const ofEth = lines.filter(({ asset }: { asset: string }) => asset === 'ETH');
    const changes = ofEth.filter(({ kind }: { kind: string }) => !/^(?:opening|closing)$/.test(kind));
    return {
      lines: changes.map(({ kind, amount, reference }: Record<string, string>) => [kind, amount, reference]),
      closing: ofEth.find(({ kind }: { kind: string }) => kind === 'closing')?.amount ?? '0',
    };
  }

  it('answers a repeat as a duplicate whose first try is booked while Postgres is asked', async () => {
    await fixture.ask(...credit('ETH', '3', '--reference', 'asked twice'));
    await fixture.settle();
    const reversal = debit('ETH', '3', '--reference', 'same part', '--reverses', 'asked twice', ...WHY);
    const { journal } = fixture.ledger;
    const { reversedAtoms } = journal;
    journal.reversedAtoms = async (...asked) => {
      journal.reversedAtoms = reversedAtoms;
      expect(await settled(...reversal)).to.include({ duplicate: false });
      return reversedAtoms(...asked);
    };
    expect(await fixture.ask(...reversal)).to.include({ amount: '3', duplicate: true });
    const other = debit('ETH', '1', '--reference', 'other part', '--reverses', 'asked twice', ...WHY);
    const { status, stderr } = await fixture.run(...other);
    expect(status).to.equal(1);
    expect(stderr).to.contain('0 atoms of asked twice are left after earlier reversals: nothing was moved');
  });

  it('finds in Postgres how much of a deposit is left when Redis has forgotten its reversals', async () => {
    await fixture.ask(...credit('ETH', '10', '--reference', 'in parts'));
    for (const nth of [1, 2, 3])
      await settled(
        ...debit('ETH', '2', '--reference', `forgotten ${nth}`, '--reverses', 'in parts', ...WHY),
      );
    for (const key of await fixture.redis.keys('{redbook}:claims:*')) await fixture.redis.del(key);
    const rest = (amount: string) =>
      debit('ETH', amount, '--reference', 'rest', '--reverses', 'in parts', ...WHY);
    expect(await fixture.refuse(...rest('4.01'))).to.equal('ALREADY_REVERSED');
    await settled(...rest('4'));
    const { checks } = await fixture.ledger.checks.run(() => undefined, []);
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });
});

describe('operator: deposits that are announced', () => {
  const wallet = WALLET('b');
  let fixture: OperatorFixture;
  let settling: { stop(): Promise<void> };
  before(async () => {
    fixture = await openOperatorFixture();
    await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
    settling = fixture.settleOnAndOn();
  });
  after(async () => {
    await settling.stop();
    await fixture.close();
  });

  const announce = (reference: string, amount = '2'): string[] => {
    const deposit = ['deposit', 'announce', wallet, 'ETH', amount];
    return [...deposit, '--reference', reference];
  };
  const drop = (reference: string): string[] => ['deposit', 'drop', reference, '--reason', 'never arrived'];
  const totalOf = async () => (await fixture.ask('account', 'show', wallet)).balances[0]?.total ?? '0';
  const forget = async (): Promise<void> => {
    await settling.stop();
    for (const key of await fixture.redis.keys('{redbook}:claims:*')) await fixture.redis.del(key);
    settling = fixture.settleOnAndOn();
  };

  it('move nothing until they are credited, once and as they were announced', async () => {
    const announced = { reference: 'one', wallet, asset: 'ETH', amount: '2', state: 'announced' };
    expect(await fixture.ask(...announce('one'))).to.deep.equal({ ...announced, duplicate: false });
    expect(await fixture.ask(...announce('one'))).to.deep.equal({ ...announced, duplicate: true });
    expect(await fixture.refuse(...announce('one', '3'))).to.equal('REFERENCE_CONFLICT');
    expect(await totalOf()).to.equal('0');
    const { deposits } = await fixture.ask('deposit', 'list');
    expect(deposits.map(({ reference }: { reference: string }) => reference)).to.deep.equal(['one']);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => fixture.ask('deposit', 'credit', 'one')),
    );
    expect(outcomes.filter(({ duplicate }) => !duplicate)).to.have.length(1);
    expect(outcomes[0]).to.include({ amount: '2', state: 'credited' });
    expect(await totalOf()).to.equal('2');
    expect(await fixture.refuse(...drop('one'))).to.equal('REFERENCE_CONFLICT');
    expect(await fixture.ask('deposit', 'show', 'one')).to.include({ state: 'credited' });
    expect((await fixture.ask('deposit', 'list')).deposits).to.deep.equal([]);
  });

  it('end once, dropped or credited, whoever asks at the same time', async () => {
    for (let nth = 0; nth < 6; nth += 1) {
      const reference = `raced ${nth}`;
      await fixture.ask(...announce(reference, '1'));
      const before = Number(await totalOf());
      const [credited, dropped] = await Promise.all([
        fixture.run('deposit', 'credit', reference),
        fixture.run(...drop(reference)),
      ]);
      expect(credited!.status + dropped!.status).to.equal(1);
      expect(Number(await totalOf())).to.equal(before + (credited!.status === 0 ? 1 : 0));
    }
  });

  it('are refused after they were dropped, also when Redis has forgotten it', async () => {
    await fixture.ask(...announce('gone'));
    expect(await fixture.ask(...drop('gone'))).to.include({ state: 'dropped', duplicate: false });
    const refused = async (): Promise<void> => {
      expect(await fixture.ask(...drop('gone'))).to.include({ state: 'dropped', duplicate: true });
      for (const words of [
        ['deposit', 'credit', 'gone'],
        ['account', 'credit', wallet, 'ETH', '2', '--reference', 'gone'],
      ])
        expect(await fixture.refuse(...words), words.join(' ')).to.equal('REFERENCE_CONFLICT');
      for (const words of [drop('never'), ['deposit', 'credit', 'never'], ['deposit', 'show', 'never']])
        expect(await fixture.refuse(...words), words.join(' ')).to.equal('UNKNOWN_DEPOSIT');
    };
    await refused();
    await forget();
    await refused();
  });

  it('are not announced when they are credited already', async () => {
    await fixture.ask('account', 'credit', wallet, 'ETH', '2', '--reference', 'direct');
    expect(await fixture.refuse(...announce('direct'))).to.equal('REFERENCE_CONFLICT');
    await forget();
    expect(await fixture.refuse(...announce('direct'))).to.equal('REFERENCE_CONFLICT');
    expect(await fixture.refuse('deposit', 'credit', 'direct')).to.equal('UNKNOWN_DEPOSIT');
  });

  it('are shown as they were credited, whatever was announced', async () => {
    await fixture.ask(...announce('otherwise'));
    const other = WALLET('c');
    await fixture.ask('account', 'credit', other, 'USDC', '7', '--reference', 'otherwise');
    const shown = { reference: 'otherwise', wallet: other, asset: 'USDC', amount: '7', state: 'credited' };
    expect(await fixture.ask('deposit', 'show', 'otherwise')).to.include(shown);
    await forget();
    expect(await fixture.ask('deposit', 'show', 'otherwise')).to.include(shown);
    expect(await fixture.refuse('deposit', 'credit', 'otherwise')).to.equal('REFERENCE_CONFLICT');
  });

  it('wait for an engine that lacks their asset, because it is not whole yet', async () => {
    await fixture.ask(...announce('early'));
    await settling.stop();
    await fixture.redis.hdel(KEYS.assets, 'ETH');
    for (const words of [['show', 'early'], ['credit', 'early'], ['list']])
      expect(await fixture.refuse('deposit', ...words), words[0]).to.equal('SERVICE_UNAVAILABLE');
    await fixture.redis.hset(KEYS.assets, 'ETH', 8);
    settling = fixture.settleOnAndOn();
    expect(await fixture.ask('deposit', 'credit', 'early')).to.include({ amount: '2' });
  });

  it('fix the scale of their asset, also after a rebuild of the engine', async () => {
    await fixture.ask('asset', 'set', 'ONLY', '--scale', '2');
    await fixture.ask('deposit', 'announce', wallet, 'ONLY', '1', '--reference', 'only');
    await settling.stop();
    await fixture.redis.flushall();
    await fixture.ask('ledger', 'rebuild');
    for (const engine of [fixture.engine, fixture.services.engine])
      await engine.lifecycle.open(await fixture.ledger.settlement.cursor());
    settling = fixture.settleOnAndOn();
    expect(await fixture.refuse('asset', 'set', 'ONLY', '--scale', '8')).to.equal('ASSET_IN_USE');
    expect(await fixture.ask('deposit', 'credit', 'only')).to.include({ amount: '1' });
  });

  it('are told of in movements and acts, have no entries, and the ledger holds', async () => {
    await settling.stop();
    const { movements } = await fixture.ask('ledger', 'movements', ...SPAN, '--wallet', wallet);
    const kinds = movements
      .filter(({ reference }: { reference: string }) => reference === 'gone')
      .map(({ kind, reason }: Record<string, string>) => [kind, reason]);
    expect(kinds).to.deep.equal([
      ['deposit_announced', 'not given'],
      ['deposit_dropped', 'never arrived'],
    ]);
    const { entries } = await fixture.ask('ledger', 'export', ...SPAN);
    expect(entries.filter(({ reference }: { reference: string }) => reference === 'gone')).to.deep.equal([]);
    const { acts } = await fixture.ask('acts', '--since', '2020-01-01', '--wallet', wallet);
    expect(acts.map(({ act }: { act: string }) => act)).to.include.members([
      'deposit announce',
      'deposit drop',
    ]);
    const { checks } = await fixture.ledger.checks.run(() => undefined, []);
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });
});
