/**
 * Carries out the example of docs/finance.md, moves its events to the times of the document, and compares what each of
 * the document's commands prints with what the document shows.
 */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { EngineEvent } from '../../src/domain/event.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { freshLedgerDatabase } from '../support/servers.ts';
import { type OperatorFixture, openOperatorFixture } from './fixture.ts';

const DOCUMENT = readFileSync(new URL('../../docs/finance.md', import.meta.url), 'utf8');

/** Rows of the example: a time, and a command or an order. */
const STEPS = [...DOCUMENT.matchAll(/^\| (\d{4}-\d\d-\d\d \d\d:\d\d) \| `(.+)` \|$/gm)].map(
  ([, time, words]) => ({
    timeMs: Date.parse(`${time!.replace(' ', 'T')}:00Z`),
    words: words!,
  }),
);

/** Time of the acts of the document's commands. */
const CLOSED_AT_MS = Date.UTC(2026, 1, 2, 8);

/** Blocks of the document: a command after a dollar sign, and all that it prints. `…` stands for any text. */
const SHOWN = [...DOCUMENT.matchAll(/^```console\n\$ redbook (.+)\n([\s\S]*?)^```$/gm)].map(
  ([, command, printed]) => ({ command: command!, printed: printed! }),
);

/** Splits words as a shell does. */
const wordsOf = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);

const asPattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
  );

/** Moves an event to a time. */
function movedTo(event: EngineEvent, timeMs: number): EngineEvent {
  if (event.kind !== 'order_placed') return { ...event, timeMs };
  const order = { ...event.order, createdAtMs: timeMs };
  return { ...event, timeMs, order, trades: event.trades.map((trade) => ({ ...trade, timeMs })) };
}

describe('docs/finance.md', () => {
  let fixture: OperatorFixture;
  let books: Ledger;
  let stopSettling: () => Promise<void>;

  async function carryOut(words: string): Promise<void> {
    const [, wallet, side, size, base, quote, price] =
      /^(0x\w{40}) (buy|sell) (\S+) (\w+)\/(\w+) at (\S+)$/.exec(words) ?? [];
    if (wallet === undefined) {
      const { status, stderr } = await fixture.run(...wordsOf(words.replace(/^redbook /, '')));
      expect(stderr, words).to.equal('');
      expect(status).to.equal(0);
    } else {
      const order = { market: `${base}/${quote}`, side: side as 'buy' | 'sell', size: size!, price: price! };
      await fixture.place({ wallet, ...order });
    }
  }

  before(async () => {
    fixture = await openOperatorFixture();
    books = openLedger({ databaseUrl: await freshLedgerDatabase() });
    const moved: EngineEvent[] = [];
    let sequence = 0;
    for (const { timeMs, words } of STEPS) {
      await carryOut(words);
      await fixture.settle();
      const events = await fixture.engine.outbox.readEvents({ epoch: 1, sequence }, 100);
      const following = events.filter((event) => event.sequence > sequence);
      sequence = following.at(-1)!.sequence;
      moved.push(...following.map((event) => movedTo(event, timeMs)));
    }
    await books.settlement.settle(moved);
    fixture.services = { ...fixture.services, ledger: books };
    stopSettling = settleOnAndOn();
  });

  /** Settles the acts of the document's commands, until it is called to stop. */
  function settleOnAndOn(): () => Promise<void> {
    let isOver = false;
    const settling = (async () => {
      while (!isOver) {
        const events = await fixture.engine.outbox.readEvents(await books.settlement.cursor(), 100);
        await books.settlement.settle(events.map((event) => movedTo(event, CLOSED_AT_MS)));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    return async () => {
      isOver = true;
      await settling;
    };
  }

  after(async () => {
    await stopSettling();
    await books.close();
    await fixture.close();
  });

  it('has an example whose commands print what it shows', async () => {
    expect(STEPS.length).to.be.greaterThan(8);
    expect(SHOWN.length).to.be.greaterThan(8);
    for (const { command, printed } of SHOWN) {
      const { stdout, stderr } = await fixture.run(...wordsOf(command));
      expect(stderr, command).to.equal('');
      const lines = stdout.split('\n').map((line) => line.trimEnd());
      for (const [at, line] of printed.split('\n').entries())
        expect(lines[at], command).to.match(asPattern(line));
      expect(lines, command).to.have.length(printed.split('\n').length);
    }
  });
});
