/** Books whose events are settled as of past months, for tests that close these. */

import { adoptEngine } from '../../src/books/adopt/index.ts';
import { closeMonth, reopenMonth } from '../../src/books/closing.ts';
import { reconcile } from '../../src/books/reconcile/index.ts';
import { monthSpan } from '../../src/domain/months.ts';
import type { Engine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import type { OperatorServices } from '../../src/operator/command-line.ts';
import { query } from '../ledger/tables.ts';
import { type OperatorFixture, openOperatorFixture, WALLET } from '../operator/fixture.ts';

export const ALICE = WALLET('a');
export const BOB = WALLET('b');
export const ACT = { by: 'mara', reason: 'month end' };
const PATIENCE_MS = 10_000;

/** An exchange whose events are settled as of a month that the test chooses. */
export class PastBooks {
  readonly fixture: OperatorFixture;
  /** The month of events that are settled next. */
  month = '2024-01';
  #moved = 0;

  constructor(fixture: OperatorFixture) {
    this.fixture = fixture;
  }

  get services(): OperatorServices {
    return this.fixture.services;
  }

  /** Settles what the engine has, and moves its time into the month. */
  async settle(): Promise<void> {
    const { engine, ledger } = this.fixture;
    const cursor = await ledger.settlement.cursor();
    const events = await engine.outbox.readEvents(cursor, 500);
    const { startMs } = monthSpan(this.month);
    await ledger.settlement.settle(events.map((event) => ({ ...event, timeMs: startMs + event.sequence })));
  }

  /** Books a deposit in a month. */
  async deposit(month: string): Promise<void> {
    this.#moved += 1;
    this.month = month;
    const reference = `deposit ${this.#moved}`;
    await this.fixture.ask('account', 'credit', ALICE, 'ETH', `${this.#moved}`, '--reference', reference);
    await this.settle();
  }

  /** Credits a wallet, loses the event before settlement reads it, and adopts the balance in a month. */
  async loseCredit(wallet: string, amount: string, month: string): Promise<void> {
    this.month = month;
    const { redis, engine } = this.fixture;
    await this.fixture.ask('account', 'credit', wallet, 'ETH', amount, '--reference', 'lost');
    await redis.xtrim(KEYS.events, 'MAXLEN', 0);
    const state = await engine.reads.state();
    const timeMs = monthSpan(month).startMs + state.sequence;
    const reads = { ...engine.reads, state: async () => ({ ...state, timeMs }) };
    await adoptEngine(
      { engine: { ...engine, reads } as Engine, ledger: this.services.ledger },
      { act: ACT, confirmed: state.sequence },
    );
  }

  /** Runs while settlement goes on. */
  async whileSettling<Result>(work: () => Promise<Result>): Promise<Result> {
    let isOver = false;
    const settling = (async () => {
      while (!isOver) {
        await this.settle();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    try {
      return await work();
    } finally {
      isOver = true;
      await settling;
    }
  }

  /** Closes a month while settlement goes on. */
  close(month: string, isEmpty = false, services = this.services) {
    return this.whileSettling(() => closeMonth(services, month, { isEmpty, patienceMs: PATIENCE_MS }, ACT));
  }

  /** Reopens a month likewise. */
  reopen(month: string, services = this.services) {
    return this.whileSettling(() => reopenMonth(services, month, PATIENCE_MS, ACT));
  }

  /** Differences that a reconcile finds, other than the time to which this test moved the last event. */
  async failed(): Promise<string[]> {
    const { checks } = await reconcile(this.services, { patienceMs: 0 });
    return checks.flatMap(({ name, differences }) =>
      differences
        .filter(({ subject }) => !subject.startsWith('engine_cursor event_time_ms'))
        .map(({ subject, expected, found }) => `${name}: ${subject}: expected ${expected}, found ${found}`),
    );
  }

  /** Differences that the ledger finds in itself, whatever is settled. */
  async failedInLedger(): Promise<string[]> {
    const { checks } = await this.services.ledger.checks.run();
    return checks.flatMap(({ name, violations }) =>
      violations.map((one) => `${name}: ${JSON.stringify(one)}`),
    );
  }

  /** Acts on months. */
  acts(): Promise<{ name: string; subject: string; before: string | null; after: string | null }[]> {
    return query(
      this.fixture.databaseUrl,
      `select name, subject, before, after from operator_acts where name in ('ledger close', 'ledger reopen') order by sequence`,
    );
  }

  static async open(): Promise<PastBooks> {
    const books = new PastBooks(await openOperatorFixture());
    await books.fixture.ask('asset', 'set', 'ETH', '--scale', '9');
    return books;
  }
}

/** Returns code and message of a refusal. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('was carried out'),
    (one) => one,
  );
  return `${error.code ?? 'no code'}: ${error.message}`;
}
