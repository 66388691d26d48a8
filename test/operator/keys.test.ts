/** Tests keys of the routes for operators: made once, listed, revoked, and capped to the atom. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { bookMovements } from '../../src/books/book-movements.ts';
import { findKey } from '../../src/books/operator-keys.ts';
import { Refusal } from '../../src/domain/errors.ts';
import { parseDecimal, toScaled } from '../../src/domain/units.ts';
import { openLedger } from '../../src/ledger/index.ts';
import { query } from '../ledger/tables.ts';
import { type OperatorFixture, openOperatorFixture, WALLET } from './fixture.ts';

describe('operator: keys', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openOperatorFixture();
    await fixture.ask('asset', 'set', 'USDC', '--scale', '6');
  });
  after(() => fixture.close());

  const sums = (key = 'capped') =>
    query<{ atoms: string }>(
      fixture.databaseUrl,
      `select atoms::text as atoms from operator_key_days where key = '${key}'`,
    );

  it('prints a key once, and keeps only its digest', async () => {
    const { key } = await fixture.ask(
      'key',
      'create',
      'custody-1',
      '--may',
      'credit,debit',
      '--cap',
      'USDC=100000.5/day',
    );
    expect(key).to.match(/^rbk_[\w-]{43}$/);
    const rows = await query(fixture.databaseUrl, 'select * from operator_keys');
    expect(rows).to.have.length(1);
    expect(rows[0]).to.deep.include({
      digest: createHash('sha256').update(key).digest(),
      rights: ['credit', 'debit'],
      caps: { USDC: '100000.5' },
    });
    const { keys } = await fixture.ask('key', 'list');
    expect(JSON.stringify(keys)).not.to.contain(key);
    expect(keys[0]).to.include({ name: 'custody-1', revokedAt: null });
    expect(await findKey(fixture, key)).to.include({ name: 'custody-1' });
    expect(await findKey(fixture, `${key}x`)).to.equal(undefined);
  });

  it('ends a revoked key at once, and never gives its name again', async () => {
    const { stdout } = await fixture.run('key', 'create', 'short-lived', '--may', 'read');
    const key = stdout.trim();
    expect(await findKey(fixture, key)).to.deep.include({ rights: ['read'], caps: {} });
    await fixture.ask('key', 'revoke', 'short-lived');
    expect(await findKey(fixture, key)).to.equal(undefined);
    const [, row] = (await fixture.ask('key', 'list')).keys;
    expect(Date.parse(row.revokedAt)).to.be.at.least(Date.parse(row.createdAt));
    expect(await fixture.ask('key', 'revoke', 'short-lived')).to.include({ revokedAt: row.revokedAt });
    expect(await fixture.refuse('key', 'create', 'short-lived', '--may', 'read')).to.equal('KEY_EXISTS');
  });

  for (const [why, code, ...argv] of [
    ['a name with a blank', 'INVALID_KEY_NAME', 'two words', '--may', 'read'],
    ['a cap of an unknown asset', 'UNKNOWN_ASSET', 'capped', '--may', 'debit', '--cap', 'DOGE=1/day'],
    [
      'a cap finer than the atom',
      'INVALID_AMOUNT',
      'capped',
      '--may',
      'debit',
      '--cap',
      'USDC=0.0000001/day',
    ],
    ['a limit of an unknown asset', 'UNKNOWN_ASSET', 'capped', '--may', 'debit', '--two-persons', 'DOGE=1'],
    ['a cap of 0', 'INVALID_AMOUNT', 'capped', '--may', 'debit', '--cap', 'USDC=0/day'],
  ] as const) {
    it(`rejects ${why}`, async () => {
      expect(await fixture.refuse('key', 'create', ...argv)).to.equal(code);
    });
  }

  it('rejects unknown rights, malformed caps and unknown keys', async () => {
    for (const argv of [
      ['--may', 'read,fly'],
      ['--may', 'debit', '--cap', 'USDC=5'],
      ['--may', 'debit', '--cap', 'USDC=5/day', '--cap', 'USDC=6/day'],
      ['--may', 'debit', '--cap', '*=5/day', '--cap', '*=6/day'],
      ['--may', 'debit', '--two-persons', 'USDC=5/day'],
    ])
      expect((await fixture.run('key', 'create', 'refused', ...argv)).status).to.equal(2);
    expect(await fixture.refuse('key', 'revoke', 'nobody')).to.equal('UNKNOWN_KEY');
    expect((await fixture.ask('key', 'list')).keys).to.have.length(2);
  });

  it('names a large movement of a key that another one did not approve, or for another amount', async () => {
    const wallet = WALLET('d');
    const command = (reference: string, amount: string) =>
      ['account', 'credit', wallet, 'USDC', amount, '--reference', reference, '--by', 'two'] as const;
    // A person bore the name before there was such a key.
    await fixture.ask(...command('before the key', '500'));
    await fixture.ask('key', 'create', 'two', '--may', 'credit', '--two-persons', 'USDC=10.5');
    expect(await fixture.refuse(...command('not of the key', '500'))).to.equal('INVALID_ACT');
    const book = (reference: string, amount: string) => {
      const amountAtoms = toScaled(parseDecimal(amount)!, 6)!;
      const credit = { kind: 'credited', wallet, asset: 'USDC', amountAtoms, reference } as const;
      return fixture.engine.funds.move(credit, undefined, 6, { by: 'two', reason: 'a test' });
    };
    const approve = (subject: string, after: string, by: string) =>
      fixture.engine.acts.note(
        { name: 'movement approve', wallet, subject, after },
        { by, reason: 'a test' },
      );
    await book('alone', '10.5');
    await approve('approved', 'credited USDC 10500001', 'another');
    await book('approved', '10.500001');
    await approve('by itself', 'credited USDC 11000000', 'two');
    await book('by itself', '11');
    await approve('of another amount', 'credited USDC 11000000', 'another');
    await book('of another amount', '11.1');
    await book('of nobody', '12');
    await approve('of nobody', 'credited USDC 12000000', 'another');
    await fixture.settle();
    const named = await query<{ sequence: string }>(
      fixture.databaseUrl,
      `select 'movement ' || sequence as sequence from movements where reference in ('by itself', 'of another amount', 'of nobody')`,
    );
    const { checks } = await fixture.ledger.checks.run(() => undefined, []);
    const broken = checks.filter(({ violations }) => violations.length > 0);
    expect(broken.map(({ name }) => name)).to.deep.equal(['large movements were approved']);
    expect(broken[0]!.violations.map(({ subject }) => subject).sort()).to.deep.equal(
      named.map(({ sequence }) => sequence).sort(),
    );
  });

  it('counts an amount whose answer was lost, though an equal one of its request is answered as booked before', async () => {
    await fixture.ask('key', 'create', 'twins', '--may', 'credit', '--cap', 'USDC=100/day');
    const key = (await fixture.ledger.keys.all()).find(({ name }) => name === 'twins')!;
    const { engine } = fixture;
    let lost: Promise<unknown> | undefined;
    const move: typeof engine.funds.move = async (...asked) => {
      if (lost !== undefined) {
        await lost;
        return engine.funds.move(...asked);
      }
      lost = engine.funds.move(...asked);
      await lost;
      throw new Refusal('SERVICE_UNAVAILABLE');
    };
    const funds = Object.assign(Object.create(engine.funds), { move });
    const losing = { ledger: fixture.ledger, engine: { ...engine, funds } };
    const act = { by: 'twins', reason: 'a test' };
    const amount = parseDecimal('7')!;
    const twin = {
      kind: 'credited',
      wallet: WALLET('e'),
      asset: 'USDC',
      amount,
      reference: 'twin',
      act,
    } as const;
    const booked = await bookMovements(losing, [twin, twin], key);
    expect(booked.map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled']);
    expect(await sums('twins')).to.deep.equal([{ atoms: '7000000' }]);
  });

  it('reserves no atom above a cap for two processes at once, and counts a reference once', async () => {
    const other = openLedger({ databaseUrl: fixture.databaseUrl });
    const amount = (reference: string, atoms: bigint) => ({
      kind: 'debited',
      reference,
      asset: 'USDC',
      atoms,
      capAtoms: 1_000n,
    });
    const reserve = ({ caps }: typeof other, names: readonly string[]) =>
      caps.reserve(
        'capped',
        names.map((name) => amount(name, 7n)),
      );
    const names = Array.from({ length: 200 }, (_none, at) => `w-${at}`);
    const requests = Array.from({ length: 20 }, (_none, at) => names.slice(at * 10, at * 10 + 10));
    const answers = await Promise.all(
      requests.flatMap((request) => [reserve(fixture.ledger, request), reserve(other, request)]),
    );
    const granted = new Set(
      answers.flatMap((may, at) => requests[Math.floor(at / 2)]!.filter((_name, index) => may[index])),
    );
    expect(granted.size).to.equal(142);
    expect(await sums()).to.deep.equal([{ atoms: '994' }]);
    expect(await other.caps.reserve('capped', [amount('fits', 6n), amount('does not', 1n)])).to.deep.equal([
      true,
      false,
    ]);

    const moved = amount([...granted][0]!, 7n);
    const refused = amount([...granted][1]!, 7n);
    await other.caps.keep('capped', [moved]);
    await other.caps.release('capped', [moved]);
    expect(await sums()).to.deep.equal([{ atoms: '1000' }]);
    // Two requests wait with this amount: the last one gives it back.
    await other.caps.release('capped', [refused]);
    expect(await sums()).to.deep.equal([{ atoms: '1000' }]);
    await fixture.ledger.caps.release('capped', [refused]);
    expect(await sums()).to.deep.equal([{ atoms: '993' }]);
    expect(await fixture.ledger.caps.reserve('capped', [amount('next', 7n)])).to.deep.equal([true]);
    await other.close();
  });
});
