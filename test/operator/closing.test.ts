/** Tests how months are closed and reopened. */

import { expect } from 'chai';
import { reopenMonth } from '../../src/books/closing.ts';
import { monthSpan } from '../../src/domain/months.ts';
import { openLedger } from '../../src/ledger/index.ts';
import type { OperatorServices } from '../../src/operator/command-line.ts';
import { ACT, ALICE, BOB, PastBooks, refusal } from '../books/past-books.ts';
import { query } from '../ledger/tables.ts';

const PATIENCE_MS = 10_000;

describe('closing a month', () => {
  let books: PastBooks;
  beforeEach(async () => {
    books = await PastBooks.open();
  });
  afterEach(() => books.fixture.close());

  it('has the digest of its balances in its act, once', async () => {
    await books.deposit('2024-01');
    await books.deposit('2024-02');
    const closed = await books.close('2024-01');
    expect(closed).to.include({ month: '2024-01', isNew: true, reopenedAtMs: null });
    expect(closed.figures.balances).to.equal(2);
    expect(await books.close('2024-01')).to.deep.equal({ ...closed, isNew: false });
    expect(await books.acts()).to.deep.equal([
      { name: 'ledger close', subject: '2024-01', before: null, after: closed.digest },
    ]);
    expect(await books.failed()).to.deep.equal([]);
  });

  it('is refused before the last closed month, and after one with entries that is open', async () => {
    for (const month of ['2024-01', '2024-02', '2024-05', '2024-06']) await books.deposit(month);
    books.month = '2024-06';
    await books.close('2024-01');
    expect(await refusal(books.close('2024-05'))).to.equal(
      'MONTH_OUT_OF_ORDER: 2024-02 has entries and is not closed: close it before 2024-05',
    );
    await books.close('2024-02');
    await books.close('2024-05');
    expect(await refusal(books.close('2024-03', true))).to.equal(
      'MONTH_OUT_OF_ORDER: 2024-03 is before 2024-05, the last closed month: reopen the months after 2024-03 first, the last one first',
    );
    expect((await books.close('2024-02')).isNew).to.equal(false);
    expect(await books.failed()).to.deep.equal([]);
  });

  it('without entries needs the word that it is meant', async () => {
    await books.deposit('2024-02');
    await books.deposit('2024-04');
    for (const month of ['2023-12', '2024-03'])
      expect(await refusal(books.close(month))).to.equal(
        `MONTH_EMPTY: ${month} has no entries: if it is meant, close it with --empty, or with "empty": true in the request`,
      );
    expect((await books.close('2023-12', true)).figures.balances).to.equal(0);
    await books.close('2024-02');
    expect((await books.close('2024-03', true)).figures.balances).to.equal(2);
  });

  it('is withdrawn by the newest month first, and both figures stay on record', async () => {
    for (const month of ['2024-01', '2024-02', '2024-03']) await books.deposit(month);
    const january = await books.close('2024-01');
    const february = await books.close('2024-02');
    const wrong = await query(books.fixture.databaseUrl, 'select count(*) from closings');
    expect(await refusal(books.reopen('2024-01'))).to.equal(
      'MONTH_OUT_OF_ORDER: 2024-01 is not the last closed month: reopen 2024-02 first',
    );
    expect(await refusal(books.reopen('2024-03'))).to.equal('NOT_CLOSED: 2024-03 is not closed');
    const reopened = await books.reopen('2024-02');
    expect(reopened).to.include({ month: '2024-02', digest: february.digest, isNew: true });
    expect((await books.reopen('2024-02')).isNew).to.equal(false);
    expect(await books.failed()).to.deep.equal([]);
    expect(await books.acts()).to.deep.include({
      name: 'ledger reopen',
      subject: '2024-02',
      before: february.digest,
      after: null,
    });
    const { closings, reopened: withdrawn } = await books.fixture.ask('ledger', 'closings');
    expect(closings.map(({ month }: { month: string }) => month)).to.deep.equal(['2024-01']);
    expect(withdrawn).to.have.length(1);
    expect(withdrawn[0]).to.include({ month: '2024-02', digest: february.digest });
    const again = await books.close('2024-02');
    expect([again.digest, again.isNew]).to.deep.equal([february.digest, true]);
    expect(await query(books.fixture.databaseUrl, 'select count(*) from closings')).to.deep.equal(wrong);
    expect(january.digest).to.not.equal(february.digest);
    expect(await books.failed()).to.deep.equal([]);
  });

  it('takes turns with reopening the one before it, so that no open month has a closed one after it', async () => {
    for (const month of ['2024-01', '2024-02', '2024-03']) await books.deposit(month);
    await books.close('2024-01');
    const { engine } = books.services;
    const ledger = openLedger({ databaseUrl: books.fixture.databaseUrl });
    const ofOthers = { ...books.services, ledger } as OperatorServices;
    const reopening = new Promise<string>((resolve) => {
      const note: typeof engine.acts.note = async (...given) => {
        const reopened = refusal(reopenMonth(ofOthers, '2024-01', PATIENCE_MS, ACT));
        resolve(reopened);
        await Promise.race([reopened, untilWaiting()]);
        return engine.acts.note(...given);
      };
      const services = {
        ...books.services,
        engine: { ...engine, acts: { note } },
      } as unknown as OperatorServices;
      void books.close('2024-02', false, services);
    });
    expect(await books.whileSettling(() => reopening)).to.equal(
      'MONTH_OUT_OF_ORDER: 2024-01 is not the last closed month: reopen 2024-02 first',
    );
    await ledger.close();
    expect(await books.failed()).to.deep.equal([]);
  });

  /** Waits until a command waits for the turn of another one. */
  async function untilWaiting(): Promise<void> {
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted`;
    while ((await query(books.fixture.databaseUrl, waiting)).length === 0);
  }

  it('is named by a reconcile when a month before it was reopened alone', async () => {
    for (const month of ['2024-01', '2024-02', '2024-03', '2024-04']) await books.deposit(month);
    for (const month of ['2024-01', '2024-02', '2024-03']) await books.close(month);
    const [, { after }] = (await books.acts()) as [unknown, { after: string }];
    const { acts } = books.services.engine;
    await acts.note({ name: 'ledger reopen', subject: '2024-02', before: after }, ACT);
    await books.settle();
    expect(await books.failed()).to.deep.equal([
      'closings follow from acts: closing of 2024-03: expected each month with entries closed since 2024-01, found entries of an open month, from event 3',
    ]);
  });

  it('with wrong balances is withdrawn, and statements use the right ones', async () => {
    await books.deposit('2024-01');
    await books.deposit('2024-02');
    const right = await books.close('2024-01');
    await books.reopen('2024-01');
    // A wrong closing, as of a release with an error: its digest is that of its balances.
    const wrong = await query<{ hex: string }>(
      books.fixture.databaseUrl,
      `with kept as (insert into closing_balances values (2, '${ALICE}', 'ETH', 7, 0)),
        digest as (select sha256(convert_to(concat_ws(E'\\t', '${ALICE}', 'ETH', 7, 0) || E'\\n', 'UTF8')) as digest),
        closed as (insert into closings select 2, month, end_ms, sequence, digest.digest from closings, digest)
      select encode(digest, 'hex') as hex from digest`,
    );
    const { engine, ledger } = books.services;
    await engine.acts.note({ name: 'ledger close', subject: '2024-01', after: wrong[0]!.hex }, ACT);
    await books.settle();
    const total = async (): Promise<bigint | undefined> => {
      for await (const { account, totalAtoms } of ledger.balances.at(monthSpan('2024-01').endMs))
        if (account === ALICE) return totalAtoms;
      return undefined;
    };
    expect(await total()).to.equal(7n);
    expect((await books.failed()).join()).to.contain('kept balances follow from entries');
    await books.reopen('2024-01');
    expect(await total()).to.equal(1_000_000_000n);
    expect(await books.failed()).to.deep.equal([]);
    expect((await books.close('2024-01')).digest).to.equal(right.digest);
    expect(await total()).to.equal(1_000_000_000n);
    expect(await books.failed()).to.deep.equal([]);
    expect((await books.fixture.ask('ledger', 'closings')).reopened).to.have.length(2);
  });

  it('whose rows were lost is named, and completed by the same command', async () => {
    await books.deposit('2024-01');
    await books.deposit('2024-02');
    const closed = await books.close('2024-01');
    await query(
      books.fixture.databaseUrl,
      'set session_replication_role = replica; delete from closings; delete from closing_balances',
    );
    expect((await books.failed()).join()).to.match(/closings follow from acts.*close the month again/);
    expect(await books.close('2024-01')).to.deep.equal({ ...closed, isNew: true });
    expect(await books.acts()).to.have.length(1);
    expect(await books.failed()).to.deep.equal([]);
  });

  it('whose rows were lost is reopened, when its entries give other balances', async () => {
    await books.deposit('2024-01');
    await books.deposit('2024-02');
    const { engine } = books.services;
    const digest = '0'.repeat(64);
    await engine.acts.note({ name: 'ledger close', subject: '2024-01', after: digest }, ACT);
    await books.settle();
    expect(await refusal(books.close('2024-01'))).to.match(
      /^CLOSING_DIFFERS: 2024-01 was closed with digest 0+,/,
    );
    await books.reopen('2024-01');
    expect((await books.close('2024-01')).digest).to.not.equal(digest);
  });

  it('sums the balances that an adoption took over, and leaves the months before it as they were', async () => {
    await books.deposit('2024-01');
    const january = await books.close('2024-01');
    await books.loseCredit(BOB, '5', '2024-02');
    await books.deposit('2024-02');
    await books.deposit('2024-03');
    const february = await books.close('2024-02');
    expect(await balancesAt('2024-02')).to.deep.equal({ custody: -8n, [ALICE]: 3n, [BOB]: 5n });
    expect(await books.close('2024-01')).to.deep.equal({ ...january, isNew: false });
    expect(await balancesAt('2024-01')).to.deep.equal({ custody: -1n, [ALICE]: 1n });
    expect(await books.failed()).to.deep.equal([]);
    await books.reopen('2024-02');
    expect((await books.close('2024-02')).digest).to.equal(february.digest);
    expect(await books.failed()).to.deep.equal([]);
  });

  /** Returns the balances at the end of a month, in whole units. */
  async function balancesAt(month: string): Promise<Record<string, bigint>> {
    const found: Record<string, bigint> = {};
    for await (const { account, totalAtoms } of books.services.ledger.balances.at(monthSpan(month).endMs))
      found[account] = totalAtoms / 1_000_000_000n;
    return found;
  }
});
