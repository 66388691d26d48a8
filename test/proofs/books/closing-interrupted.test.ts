/** Interrupts the closing of a month, and its withdrawal, at each statement, and completes them. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { closeMonth, reopenMonth } from '../../../src/books/closing.ts';
import type { OperatorServices } from '../../../src/operator/command-line.ts';
import { ACT, ALICE, PastBooks, refusal } from '../../books/past-books.ts';

/** Fails the commands of this process at one of their statements, as a kill there would. */
class Kill {
  readonly #query = pg.Client.prototype.query;
  #left = 0;
  seen = 0;

  get happened(): boolean {
    return this.seen > this.#left;
  }

  /** @param left statements until the one that fails */
  arm(left: number): void {
    this.#left = left;
    this.seen = 0;
    const kill = this;
    const send = this.#query;
    pg.Client.prototype.query = function (
      this: pg.Client & { connection: { stream: { destroy(): void } } },
      ...given: never[]
    ) {
      kill.seen += 1;
      if (kill.seen > kill.#left) {
        this.connection.stream.destroy();
        return Promise.reject(new Error('killed'));
      }
      return (send as (...args: never[]) => never).apply(this, given);
    } as never;
  }

  disarm(): void {
    pg.Client.prototype.query = this.#query;
  }
}

/** Longest wait of a command whose events nobody settles. */
const NO_SETTLEMENT_MS = 50;

describe('closing a month, interrupted', () => {
  let books: PastBooks;
  const kill = new Kill();
  before(async () => {
    books = await PastBooks.open();
  });
  afterEach(() => kill.disarm());
  after(() => books.fixture.close());

  /** Runs a command that fails at one of its statements. @returns false if it got past its last one */
  async function killedAt(statement: number, work: () => Promise<unknown>): Promise<boolean> {
    kill.arm(statement);
    const told = await refusal(work());
    kill.disarm();
    if (!kill.happened) expect(told).to.match(/^SETTLEMENT_STALLED/);
    return kill.happened;
  }

  async function holds(what: string): Promise<void> {
    expect(await books.failedInLedger(), what).to.deep.equal([]);
    await books.settle();
    expect(await books.failed(), `${what}, settled`).to.deep.equal([]);
  }

  const monthAfter = (count: number): string => new Date(Date.UTC(2014, count)).toISOString().slice(0, 7);
  const digestOf = (atoms: bigint): string =>
    createHash('sha256').update(`${ALICE}\tETH\t${atoms}\t0\ncustody\tETH\t${-atoms}\t0\n`).digest('hex');
  let months = 0;
  let atoms = 0n;
  /** Books a deposit in the next month. */
  async function nextMonth(): Promise<string> {
    const month = monthAfter(months);
    months += 1;
    atoms += BigInt(months) * 1_000_000_000n;
    await books.deposit(month);
    return month;
  }

  it('at any statement leaves books that hold, and is completed to the same figures by the same command', async function () {
    this.timeout(180_000);
    let statement = 0;
    for (let wasKilled = true; wasKilled; statement += 1) {
      const month = await nextMonth();
      wasKilled = await killedAt(statement, () =>
        closeMonth(books.services, month, { patienceMs: NO_SETTLEMENT_MS }, ACT),
      );
      await holds(`killed at statement ${statement}`);
      expect(await books.close(month)).to.include({ month, digest: digestOf(atoms) });
    }
    expect(statement).to.be.greaterThan(20);
    expect(await books.acts()).to.have.length(statement);
    expect(await books.failed()).to.deep.equal([]);
  });

  for (const [name, note] of [
    ['before its act', () => Promise.reject(new Error('killed'))],
    [
      'after its act',
      async (...given: Parameters<OperatorServices['engine']['acts']['note']>) => {
        await books.services.engine.acts.note(...given);
        throw new Error('killed');
      },
    ],
  ] as const)
    it(`${name} is completed by the same command`, async () => {
      const month = await nextMonth();
      const { engine, ...others } = books.services;
      const broken = { ...others, engine: { ...engine, acts: { note } } } as unknown as OperatorServices;
      expect(await refusal(books.close(month, false, broken))).to.match(/killed$/);
      await holds(name);
      const before = (await books.acts()).length;
      expect((await books.close(month)).digest).to.equal(digestOf(atoms));
      expect((await books.acts()).length - before).to.equal(name === 'before its act' ? 1 : 0);
      await holds(`${name}, completed`);
    });

  it('while it is withdrawn leaves books that hold, and is completed by the same command', async function () {
    this.timeout(180_000);
    const month = await nextMonth();
    let statement = 0;
    for (let wasKilled = true; wasKilled; statement += 1) {
      await books.close(month);
      wasKilled = await killedAt(statement, () => reopenMonth(books.services, month, NO_SETTLEMENT_MS, ACT));
      await holds(`killed at statement ${statement}`);
      expect((await books.reopen(month)).digest).to.equal(digestOf(atoms));
    }
    expect(statement).to.be.greaterThan(3);
    const acts = (await books.acts()).filter(({ subject }) => subject === month);
    expect(acts.map(({ name }) => name)).to.deep.equal(
      Array.from({ length: statement }, () => ['ledger close', 'ledger reopen']).flat(),
    );
  });
});
