/** Proves that unsettled trades are read from the engine once, and read again after either side has lost events. */

import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import type { Cursor, EngineEvent } from '../../src/domain/event.ts';
import type { Trade } from '../../src/domain/order.ts';
import type { SecondOfTrades } from '../../src/domain/rolling-day.ts';
import type { UnsettledExecution } from '../../src/market-data/backlog.ts';
import { executionsBeyond, sumsBeyond, UnsettledReader } from '../../src/market-data/unsettled-trades.ts';
import { random, runSeed } from '../support/seed.ts';
import { seededEvents } from '../support/seeded-events.ts';

const tradesOf = (events: readonly EngineEvent[]): Trade[] =>
  events.flatMap((event) => (event.kind === 'order_placed' ? event.trades : []));

/** The executions of all markets, in order. */
const allOf = ({
  backlogs,
}: {
  backlogs: ReadonlyMap<string, { executions: readonly UnsettledExecution[] }>;
}): UnsettledExecution[] =>
  [...backlogs.values()]
    .flatMap(({ executions }) => executions)
    .sort((one, other) => one.sequence - other.sequence);

const listOf = (executions: readonly UnsettledExecution[]): Trade[] =>
  executions.flatMap(({ list }) => list ?? []);

/** A fake engine and ledger whose answers a test sets. */
class Stores {
  stream: EngineEvent[] = [];
  cursor: Cursor = { epoch: 0, sequence: 0 };
  timeMs = 0;
  open = true;
  hasPostgres = true;
  eventsRead = 0;

  readonly reader = new UnsettledReader(
    {
      lifecycle: { isOpen: () => this.open },
      reads: { time: async () => this.timeMs },
      outbox: {
        readEvents: async (after, count) => {
          const isFrom = ({ epoch, sequence }: Cursor): boolean =>
            epoch > after.epoch || (epoch === after.epoch && sequence >= after.sequence);
          const events = this.stream.filter(isFrom).slice(0, count + 1);
          this.eventsRead += events.length;
          return events;
        },
      },
    },
    {
      settlement: {
        cursor: async () => {
          if (!this.hasPostgres) throw new Refusal('SERVICE_UNAVAILABLE');
          return { ...this.cursor, digest: null, timeMs: null, settledAtMs: null };
        },
      },
    },
  );

  settle(count: number): void {
    const { epoch, sequence } = this.stream[count - 1]!;
    this.cursor = { epoch, sequence };
  }
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'answered',
    (error) => (error instanceof Refusal ? error.code : String(error)),
  );

describe('unsettled trades', () => {
  const events = seededEvents(5).next(2_600);

  it('contain every event after the cursor, each of which is read once', async () => {
    const stores = new Stores();
    stores.stream = events.slice(0, 2_500);
    expect(listOf(allOf(await stores.reader.read()))).to.deep.equal(tradesOf(stores.stream));
    const first = stores.eventsRead;
    stores.stream = events;
    stores.settle(2_450);
    const unsettled = await stores.reader.read();
    expect(listOf(allOf(unsettled))).to.deep.equal(tradesOf(events.slice(2_450)));
    for (const [symbol, { executions }] of unsettled.backlogs)
      expect(new Set(executions.map(({ market }) => market))).to.deep.equal(new Set([symbol]));
    expect(unsettled.after.sequence).to.equal(2_450);
    expect(stores.eventsRead - first).to.be.at.most(101);
  });

  it('keep only the newest of a long backlog singly, and read older ones again on request', async () => {
    const stores = new Stores();
    const [large] = events.filter((event) => event.kind === 'order_placed' && event.trades.length > 0);
    if (large?.kind !== 'order_placed') throw new Error('no event has a trade');
    const trades = Array.from({ length: 1_000 }, () => large.trades[0]!);
    stores.stream = Array.from({ length: 90 }, (_, at) => ({ ...large, trades, epoch: 1, sequence: at + 1 }));
    const executions = allOf(await stores.reader.read());
    expect(executions).to.have.length(90);
    expect(listOf(executions).length).to.be.within(15_000, 20_000);
    expect(executions.reduce((sum, execution) => sum + execution.trades, 0)).to.equal(90_000);
    expect(executions[0]).to.include({ list: null, sizeSteps: large.trades[0]!.sizeSteps * 1_000n });
    expect(await stores.reader.readTrades(executions[0]!)).to.have.length(1_000);
    stores.stream = stores.stream.slice(10);
    expect(await codeOf(stores.reader.readTrades(executions[0]!))).to.equal('SERVICE_UNAVAILABLE');
  });

  it('are read ahead while Postgres is away, although requests for them are rejected', async () => {
    const stores = new Stores();
    stores.hasPostgres = false;
    expect(await codeOf(stores.reader.read())).to.equal('SERVICE_UNAVAILABLE');
    expect(stores.eventsRead).to.equal(0);
    stores.hasPostgres = true;
    stores.stream = events.slice(0, 400);
    stores.settle(200);
    await stores.reader.read();
    stores.hasPostgres = false;
    stores.stream = events.slice(0, 1_000);
    expect(await codeOf(stores.reader.read())).to.equal('SERVICE_UNAVAILABLE');
    const before = stores.eventsRead;
    stores.hasPostgres = true;
    stores.settle(300);
    expect(listOf(allOf(await stores.reader.read()))).to.deep.equal(tradesOf(events.slice(300, 1_000)));
    expect(stores.eventsRead - before).to.equal(1);
  });

  it('begin after the cursor when Postgres is ahead of the last read', async () => {
    const stores = new Stores();
    stores.stream = events.slice(0, 500);
    await stores.reader.read();
    stores.stream = events.slice(900, 1_200);
    stores.settle(100);
    expect(listOf(allOf(await stores.reader.read()))).to.deep.equal(tradesOf(events.slice(1_000, 1_200)));
  });

  it('match a Postgres snapshot that was taken later', async () => {
    const stores = new Stores();
    stores.stream = events.slice(0, 400);
    stores.settle(200);
    const unsettled = await stores.reader.read();
    const { epoch, sequence } = events[299]!;
    const symbols = [...unsettled.backlogs.keys()];
    expect(symbols.length).to.be.above(1);
    for (const symbol of symbols) {
      const expected = tradesOf(events.slice(300, 400)).filter(({ market }) => market === symbol);
      expect(listOf(executionsBeyond({ epoch, sequence }, unsettled, symbol))).to.deep.equal(expected);
    }
    expect(() => executionsBeyond({ epoch, sequence: 199 }, unsettled, symbols[0]!)).to.throw(Refusal);
  });

  it('are summed by second in any number of parts, whatever Postgres has of them', async () => {
    const max = (one: bigint, next: bigint): bigint => (one > next ? one : next);
    const total = (sums: readonly SecondOfTrades[]): unknown => ({
      prices: [sums[0]?.firstTicks, sums.at(-1)?.lastTicks],
      high: sums.map(({ highTicks }) => highTicks).reduce(max),
      low: sums.map(({ lowTicks }) => -lowTicks).reduce(max),
      size: sums.reduce((sum, { sizeSteps }) => sum + sizeSteps, 0n),
      quote: sums.reduce((sum, { quoteAtoms }) => sum + quoteAtoms, 0n),
      trades: sums.reduce((sum, { trades }) => sum + trades, 0),
    });
    const stores = new Stores();
    const dice = random(runSeed());
    for (let read = 0, settled = 1; read < events.length; ) {
      read = Math.min(events.length, read + 1 + dice.below(300));
      settled = Math.min(read, settled + dice.below(250));
      stores.stream = events.slice(0, read);
      stores.settle(settled);
      const unsettled = await stores.reader.read();
      for (const symbol of unsettled.backlogs.keys()) {
        const cursor = events[settled - 1 + dice.below(read - settled + 1)]!;
        const executions = executionsBeyond(cursor, unsettled, symbol);
        const sums = sumsBeyond(cursor, unsettled, symbol);
        const of = (second: number) => (sum: SecondOfTrades) => sum.second === second;
        const seconds = new Set([...executions, ...sums].map(({ second }) => second));
        for (const second of seconds)
          expect(total(sums.filter(of(second)))).to.deep.equal(total(executions.filter(of(second))));
      }
    }
  });

  it('are forgotten when the engine comes back without their events', async () => {
    const stores = new Stores();
    stores.stream = events.slice(0, 400);
    stores.settle(300);
    await stores.reader.read();
    // The events from 351 on are lost, and their sequences are reused in another epoch.
    const others = seededEvents(6)
      .next(400)
      .slice(350)
      .map((event) => ({ ...event, epoch: 900 }));
    stores.stream = [...events.slice(250, 350), ...others];
    const expected = [...tradesOf(events.slice(300, 350)), ...tradesOf(others)];
    expect(listOf(allOf(await stores.reader.read()))).to.deep.equal(expected);
    stores.stream = stores.stream.slice(0, 100);
    expect(listOf(allOf(await stores.reader.read()))).to.deep.equal(tradesOf(events.slice(300, 350)));
  });

  it('are read again when Postgres comes back with fewer events', async () => {
    const stores = new Stores();
    stores.stream = events.slice(0, 400);
    stores.settle(300);
    await stores.reader.read();
    stores.settle(250);
    expect(listOf(allOf(await stores.reader.read()))).to.deep.equal(tradesOf(events.slice(250, 400)));
  });

  it('are rejected when an event is missing, and while the engine is not open', async () => {
    const stores = new Stores();
    stores.stream = [...events.slice(0, 200), ...events.slice(201, 300)];
    stores.settle(200);
    expect(await codeOf(stores.reader.read())).to.equal('SERVICE_UNAVAILABLE');
    stores.stream = events.slice(0, 300);
    expect(await codeOf(stores.reader.read())).to.equal('answered');
    stores.open = false;
    expect(await codeOf(stores.reader.read())).to.equal('SERVICE_UNAVAILABLE');
  });

  it('report a time that never goes back, and not behind the last event', async () => {
    const stores = new Stores();
    const times: number[] = [];
    for (const timeMs of [events[99]!.timeMs + 5_000, events[99]!.timeMs - 5_000]) {
      stores.timeMs = timeMs;
      times.push((await stores.reader.read()).timeMs);
    }
    stores.stream = events;
    times.push((await stores.reader.read()).timeMs);
    const late = events[99]!.timeMs + 5_000;
    expect(times).to.deep.equal([late, late, Math.max(late, events.at(-1)!.timeMs)]);
  });
});
