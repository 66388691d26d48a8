/** Proves that Redis drops an event or an id only when Postgres has it. */

import { expect } from 'chai';
import type { Cursor } from '../../src/domain/event.ts';
import { filterKeys } from '../../src/engine/filter-layout.ts';
import { type Engine, type EngineMoment, openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { CLOCK_KEY, loadOnSimulatedClock } from '../proofs/simulation/simulated-redis.ts';
import { LIMITS } from '../support/limits.ts';
import { random, runSeed } from '../support/seed.ts';
import {
  ALICE,
  BOB,
  type EngineFixture,
  eventsOf,
  fund,
  limit,
  movement,
  openEngineFixture,
  place,
  publishPlain,
} from './fixture.ts';

const M = 'ETH/USD';

describe('engine: trimming', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture();
    await publishPlain(fixture.engine, M);
    await fund(fixture.engine, ALICE, { ETH: 10_000n });
    await fund(fixture.engine, BOB, { USD: 100_000n });
  });
  afterEach(() => fixture.close());

  /** Ages the marks, so that everything settled may be dropped. */
  const age = async (...marks: string[]): Promise<void> => {
    for (const mark of marks) {
      if ((await fixture.redis.hexists(KEYS.engine, mark)) === 1)
        await fixture.redis.hset(KEYS.engine, mark, '0');
    }
  };
  const ageAll = (): Promise<void> => age('mark:at', 'unsettled:ready_at', 'claims:ready_at');

  const cursor = async (): Promise<Cursor> => {
    const { epoch, sequence } = await fixture.engine.reads.state();
    return { epoch, sequence };
  };

  it('drops events behind an earlier cursor, after a margin of time', async () => {
    const { engine } = fixture;
    for (let orders = 0; orders < 5; orders += 1) await place(engine, ALICE, limit(M, 'sell', 10, 1));
    const first = await cursor();
    expect(await engine.outbox.trim(first)).to.equal(0);
    for (let orders = 0; orders < 5; orders += 1) await place(engine, ALICE, limit(M, 'sell', 10, 1));
    const second = await cursor();
    expect(await engine.outbox.trim(second)).to.equal(0);
    expect(await eventsOf(engine)).to.have.length(second.sequence);
    await ageAll();
    expect(await engine.outbox.trim(second)).to.equal(first.sequence - 1);
    // The event at the earlier cursor stays, because readers at that cursor compare it.
    const left = await eventsOf(engine);
    expect(left.map((event) => event.sequence)).to.deep.equal([first.sequence, ...range(first, second)]);
    const after = await engine.outbox.readEvents(first, 2);
    expect(after.map((event) => event.sequence)).to.deep.equal(
      [0, 1, 2].map((more) => first.sequence + more),
    );
  });

  it('keeps events that a restored Postgres has yet to settle', async () => {
    const { engine } = fixture;
    const restored = await cursor();
    for (let orders = 0; orders < 5; orders += 1) await place(engine, ALICE, limit(M, 'sell', 10, 1));
    const lost = await cursor();
    expect(await engine.outbox.trim(lost)).to.equal(0);
    await ageAll();
    expect(await engine.outbox.trim(restored)).to.equal(0);
    await ageAll();
    // All is settled up to `restored` by now, but for the event at the cursor.
    expect(await engine.outbox.trim(restored)).to.equal(restored.sequence - 1);
    const left = await engine.outbox.readEvents(restored, 10);
    expect(left.map((event) => event.sequence)).to.deep.equal([restored.sequence, ...range(restored, lost)]);
  });

  it('keeps the event index for its time when a restored Postgres has settled the events again', async () => {
    const { engine, redis } = fixture;
    const restored = await cursor();
    await place(engine, ALICE, limit(M, 'sell', 10, 1));
    const lost = await cursor();
    await engine.outbox.trim(lost);
    await ageAll();
    await engine.outbox.trim(lost); // the next generation begins
    await engine.outbox.trim(lost);
    await ageAll();
    await engine.outbox.trim(restored);
    await engine.outbox.trim(lost);
    expect(await redis.exists(KEYS.unsettled[0])).to.equal(1);
    await ageAll();
    await engine.outbox.trim(lost);
    expect(await redis.exists(KEYS.unsettled[0])).to.equal(0);
  });

  it('rejects a cursor that is ahead of the engine', async () => {
    const { epoch, sequence } = await cursor();
    const trimmed = await fixture.engine.outbox
      .trim({ epoch, sequence: sequence + 1 })
      .catch((error: Error) => error.message);
    expect(trimmed).to.match(/AHEAD/);
    expect(await eventsOf(fixture.engine)).to.have.length(sequence);
  });

  it('never loses an unsettled event, nor an id that Postgres may lack', async () => {
    const dice = random(runSeed());
    const { engine } = fixture;
    const used: { id: string; sequence: number; orderId: string }[] = [];
    const touched: number[] = (await engine.outbox.readUnsettled(ALICE)).map((event) => event.sequence);
    let settled = 0;
    for (let step = 0; step < 400; step += 1) {
      switch (dice.below(4)) {
        case 0:
        case 1: {
          const id = `id ${step}`;
          const { order } = await place(engine, ALICE, limit(M, 'sell', 10, 1, { clientOrderId: id }));
          used.push({ id, sequence: order.sequence, orderId: order.id });
          touched.push(order.sequence);
          break;
        }
        case 2:
          await place(engine, BOB, limit(M, 'buy', 9, 1, { timeInForce: 'IOC' }));
          break;
        default: {
          const { epoch, sequence } = await cursor();
          settled = Math.max(settled, sequence - dice.below(12));
          if (dice.chance(0.7)) await ageAll();
          await engine.outbox.trim({ epoch, sequence: settled });
        }
      }
      const { sequence } = await engine.reads.state();
      const events = await engine.outbox.readEvents({ epoch: 1, sequence: settled }, 10_000);
      expect(events.map((event) => event.sequence).filter((one) => one > settled)).to.deep.equal(
        range({ sequence: settled }, { sequence }),
      );
      const unsettled = (await engine.outbox.readUnsettled(ALICE)).map((event) => event.sequence);
      expect(unsettled.filter((one) => one > settled)).to.deep.equal(touched.filter((one) => one > settled));
      expect(unsettled.every((one) => touched.includes(one))).to.equal(true);
      for (const { id, sequence: used_at, orderId } of used.slice(-15)) {
        const found = await engine.orders.find(ALICE, id);
        if (used_at > settled) expect(found).to.deep.equal({ outcome: 'claimed', orderId });
        else expect(found.outcome).to.not.equal('unclaimed');
      }
    }
  });

  it('asks for a lookup in Postgres when it has forgotten an id, and relies on it for a while', async () => {
    const { engine } = fixture;
    const request = limit(M, 'sell', 10, 1, { clientOrderId: 'forgotten' });
    const { order } = await place(engine, ALICE, request);
    const credit = movement('credited', ALICE, 'ETH', 7n);
    await engine.funds.move(credit);
    expect((await engine.orders.find(ALICE, 'forgotten')).outcome).to.equal('claimed');
    for (let turns = 0; turns < 2; turns += 1) {
      await engine.outbox.trim(await cursor());
      await age('claims:ready_at');
      await engine.outbox.trim(await cursor());
    }
    expect(await engine.orders.find(ALICE, 'forgotten')).to.deep.equal({ outcome: 'unchecked' });
    const unchecked = await engine.orders.place({ wallet: ALICE, request });
    if (unchecked.outcome !== 'unchecked') throw new Error(`${unchecked.outcome}, not unchecked`);
    const moved = await engine.funds.move(credit);
    if (moved.outcome !== 'unchecked') throw new Error(`${moved.outcome}, not unchecked`);
    // The replay of an id precedes a refusal, so the refusal must wait for the look-up.
    const invalid = limit(M, 'sell', 10, 0, { clientOrderId: 'forgotten' });
    expect((await engine.orders.place({ wallet: ALICE, request: invalid })).outcome).to.equal('unchecked');

    const tooOld = { ...unchecked.moment, timeMs: unchecked.moment.timeMs - 300_001 };
    expect((await engine.orders.place({ wallet: ALICE, request, checked: tooOld })).outcome).to.equal(
      'unchecked',
    );
    expect((await engine.funds.move(credit, tooOld)).outcome).to.equal('unchecked');

    // Here Postgres does not have the id.
    const again = await engine.orders.place({ wallet: ALICE, request, checked: unchecked.moment });
    if (again.outcome !== 'placed') throw new Error(`${again.outcome}, not placed`);
    expect(again.order.id).to.not.equal(order.id);
    expect((await engine.funds.move(credit, moved.moment)).outcome).to.equal('moved');
    expect(await engine.orders.place({ wallet: ALICE, request, checked: unchecked.moment })).to.deep.equal({
      outcome: 'claimed',
      orderId: again.order.id,
    });
    // An id that was never used needs no look-up.
    expect(await engine.orders.find(ALICE, 'never used')).to.deep.equal({ outcome: 'unclaimed' });
  });

  it('remembers an id for the whole configured time after it is settled', async () => {
    const { engine } = fixture;
    // The first generation ends, and the id is written right after.
    await engine.outbox.trim(await cursor());
    await age('claims:ready_at');
    await engine.outbox.trim(await cursor());
    await place(engine, ALICE, limit(M, 'sell', 10, 1, { clientOrderId: 'kept' }));
    // The id is settled, but its generation has just begun: no number of trims drops it.
    for (let trims = 0; trims < 5; trims += 1) await engine.outbox.trim(await cursor());
    expect((await engine.orders.find(ALICE, 'kept')).outcome).to.equal('claimed');
    await age('claims:ready_at');
    await engine.outbox.trim(await cursor());
    expect((await engine.orders.find(ALICE, 'kept')).outcome).to.equal('claimed');
    for (let trims = 0; trims < 5; trims += 1) await engine.outbox.trim(await cursor());
    expect((await engine.orders.find(ALICE, 'kept')).outcome).to.equal('claimed');
  });
});

describe("engine: trimming while the server's clock steps", () => {
  const NOON_MS = 1_700_000_000_000;
  const HOUR_MS = 3_600_000;
  const STAY_MS = 600_001;
  const FILTER = { serial: 0, bytes: 64 };
  let fixture: EngineFixture;
  let engine: Engine;
  let other: Engine;
  let nowMs: number;

  const step = async (ms: number): Promise<void> => {
    nowMs += ms;
    const seconds = Math.floor(nowMs / 1_000);
    const micros = (nowMs % 1_000) * 1_000;
    await fixture.redis.hset(CLOCK_KEY, 'seconds', seconds, 'microseconds', micros);
  };
  const request = limit(M, 'sell', 10, 1, { clientOrderId: 'once' });
  const openClocked = (): Engine =>
    openEngine({
      ...LIMITS,
      redis: fixture.redis,
      load: loadOnSimulatedClock,
      claimFilterBytes: FILTER.bytes,
    });

  beforeEach(async () => {
    fixture = await openEngineFixture();
    await fixture.redis.flushdb();
    // The administrator's connection, because no user of a role may read the simulated clock.
    [engine, other] = [openClocked(), openClocked()];
    for (const one of [engine, other]) await one.lifecycle.open({ epoch: 0, sequence: 0 });
    nowMs = NOON_MS;
    await step(0);
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 10_000n });
    // Each id might have been used.
    for (const key of filterKeys(FILTER))
      await fixture.redis.setrange(key, 0, Buffer.alloc(FILTER.bytes, 255));
  });
  afterEach(() => fixture.close());

  /** Everything is settled, and trimmed as often as settlement does. */
  const settle = async (): Promise<void> => {
    const cursor = await engine.reads.state();
    for (let trims = 0; trims < 3; trims += 1) await engine.outbox.trim(cursor);
  };

  /** Returns the moment of a look into Postgres, which does not know the id. */
  const look = async (replica: Engine): Promise<EngineMoment> => {
    const placement = await replica.orders.place({ wallet: ALICE, request });
    if (placement.outcome !== 'unchecked') throw new Error(`${placement.outcome}, not unchecked`);
    return placement.moment;
  };

  const placeAfter = async (replica: Engine, checked: EngineMoment): Promise<string> =>
    (await replica.orders.place({ wallet: ALICE, request, checked })).outcome;

  it('ignores a lookup from before an id was forgotten, when the clock steps ahead and back', async () => {
    const early = await look(other);
    expect(await placeAfter(engine, await look(engine))).to.equal('placed');
    await settle();
    for (let turns = 0; turns < 2; turns += 1) {
      await step(STAY_MS);
      await settle();
    }
    await step(-2 * STAY_MS);
    expect(await placeAfter(other, early)).to.not.equal('placed');
  });

  it('ignores a lookup from while the clock was ahead', async () => {
    await step(HOUR_MS);
    const early = await look(other);
    await step(-HOUR_MS);
    expect(await placeAfter(engine, await look(engine))).to.equal('placed');
    for (let passed = 0; passed < HOUR_MS; passed += STAY_MS) {
      await settle();
      await step(STAY_MS);
      await place(engine, ALICE, limit(M, 'sell', 10, 1));
    }
    await settle();
    expect(await placeAfter(other, early)).to.not.equal('placed');
  });

  it('relies on lookups in Postgres while nothing happens at the engine', async () => {
    await step(HOUR_MS);
    expect(await placeAfter(other, await look(other))).to.equal('placed');
  });

  it('keeps events and ids for the configured time unless its memory is half full', async () => {
    const kept = openEngine({
      ...LIMITS,
      redis: fixture.redis,
      load: loadOnSimulatedClock,
      eventsStayMs: HOUR_MS,
    });
    await kept.lifecycle.open({ epoch: 0, sequence: 0 });
    expect(await placeAfter(kept, await look(kept))).to.equal('placed');
    const turn = async (): Promise<number> => {
      await step(STAY_MS);
      await place(kept, ALICE, limit(M, 'sell', 10, 1));
      await kept.outbox.trim(await kept.reads.state());
      return fixture.redis.xlen(KEYS.events);
    };
    const { sequence } = await kept.reads.state();
    for (let turns = 1; turns <= 5; turns += 1) expect(await turn()).to.equal(sequence + turns);
    expect(await kept.orders.find(ALICE, 'once')).to.include({ outcome: 'claimed' });
    expect(await fixture.redis.zcard(KEYS.unsettled[0]!)).to.be.below(sequence);
    const used = Number(/used_memory:(\d+)/.exec(await fixture.redis.info('memory'))![1]);
    await fixture.redis.config('SET', 'maxmemory', Math.floor(1.5 * used));
    try {
      const full = openEngine({
        ...LIMITS,
        redis: fixture.redis,
        load: loadOnSimulatedClock,
        eventsStayMs: HOUR_MS,
      });
      await full.lifecycle.open({ epoch: 0, sequence: 0 });
      for (let turns = 0; turns < 2; turns += 1) {
        await step(STAY_MS);
        await full.outbox.trim(await full.reads.state());
      }
      expect(await fixture.redis.xlen(KEYS.events)).to.equal(1);
    } finally {
      await fixture.redis.config('SET', 'maxmemory', 0);
    }
  });

  it('forgets ids and drops events again after the clock has stepped back', async () => {
    expect(await placeAfter(engine, await look(engine))).to.equal('placed');
    await step(HOUR_MS);
    await settle();
    await step(-HOUR_MS);
    for (let turns = 0; turns < 3; turns += 1) {
      await settle();
      await step(STAY_MS);
      await place(engine, ALICE, limit(M, 'sell', 10, 1));
    }
    await settle();
    expect(await fixture.redis.xlen(KEYS.events)).to.be.at.most(3);
    expect(await engine.orders.find(ALICE, 'once')).to.deep.equal({ outcome: 'unchecked' });
  });
});

const range = (after: { sequence: number }, last: { sequence: number }): number[] =>
  Array.from({ length: last.sequence - after.sequence }, (_, index) => after.sequence + 1 + index);
