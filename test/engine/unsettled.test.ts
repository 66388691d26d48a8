/**
 * Proves that the cost of finding a wallet's unsettled events depends only on their number, not on earlier activity.
 */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { openEngine } from '../../src/engine/index.ts';
import { KEYS } from '../../src/engine/keys.ts';
import { loadScript, runScript, type Script, scriptOf } from '../../src/redis/lua.ts';
import { LIMITS } from '../support/limits.ts';
import { random, runSeed } from '../support/seed.ts';
import {
  ALICE,
  BOB,
  CAROL,
  changeState,
  codeOf,
  type EngineFixture,
  fund,
  limit,
  openEngineFixture,
  place,
  publishPlain,
} from './fixture.ts';

const M = 'ETH/USD';
/** Kind and time of a `trading_paused`. */
const HEAD_OF_A_SWITCH = Buffer.from('09000000000001', 'hex');
const bytesOf = (wallet: string): Buffer => Buffer.from(wallet.slice(2), 'hex');

function stampOf(epoch: number, sequence: number): Buffer {
  const stamp = Buffer.alloc(8);
  stamp.writeUInt16BE(epoch);
  stamp.writeUIntBE(sequence, 2, 6);
  return stamp;
}

const memberOf = (sequence: number): Buffer => Buffer.concat([bytesOf(ALICE), stampOf(1, sequence)]);

/** Returns the script, extended to report how many entries of the index it visited. */
function counting(): Script {
  const { source } = loadScript('find_unsettled');
  const call = "redis.call('ZRANGE', ";
  const reply = 'return reply';
  for (const text of [call, reply]) expect(source.split(text), text).to.have.length(2);
  const counted = source
    .replace(call, 'zrange(')
    .replace(reply, 'return { visited, reply }')
    .replace(
      'local FIRST_LOOK',
      `local visited = 0
local function zrange(...)
  local members = redis.call('ZRANGE', ...)
  visited = visited + #members
  return members
end
local FIRST_LOOK`,
    );
  return scriptOf('find_unsettled', counted);
}

describe('engine: unsettled events of a wallet', () => {
  const script = counting();
  let fixture: EngineFixture;
  let redis: Redis;

  beforeEach(async () => {
    fixture = await openEngineFixture();
    ({ redis } = fixture);
  });
  afterEach(() => fixture.close());

  /** Writes index entries as events do. */
  async function index(generation: 0 | 1, wallet: string, stamps: readonly Buffer[]): Promise<void> {
    for (let at = 0; at < stamps.length; at += 1_000) {
      const members = stamps
        .slice(at, at + 1_000)
        .flatMap((stamp) => [0, Buffer.concat([bytesOf(wallet), stamp])]);
      await redis.zadd(KEYS.unsettled[generation], ...(members as [number, Buffer]));
    }
  }

  const range = (epoch: number, from: number, to: number): Buffer[] =>
    Array.from({ length: to - from }, (_, place) => stampOf(epoch, from + place));

  /** Returns all pages. Each page must visit at most `maxVisited` entries. */
  async function find(wallet: string, page: number, maxVisited: number, settled = 0): Promise<string[]> {
    const found: string[] = [];
    let last = Buffer.alloc(0) as Buffer;
    for (;;) {
      const [visited, [outcome, ...stamps]] = (await runScript(
        redis,
        script,
        [KEYS.engine, ...KEYS.unsettled],
        [bytesOf(wallet), last, page, 100_000, settled, 0],
      )) as [number, [Buffer, ...Buffer[]]];
      expect(outcome.toString()).to.equal('found');
      expect(visited, 'entries looked at').to.be.at.most(maxVisited);
      found.push(...stamps.map((stamp) => stamp.toString('hex')));
      if (stamps.length < page) return found;
      last = stamps.at(-1)!;
    }
  }

  for (const unsettled of [0, 1, 7, 100]) {
    it(`reads few index entries when ${unsettled} of 20,000 are unsettled`, async () => {
      const newest = 30_000;
      await redis.hset(KEYS.engine, 'settled', newest - unsettled);
      await index(0, ALICE, range(1, 10_001, 20_001));
      await index(1, ALICE, range(2, 20_001, newest + 1));
      await index(1, BOB, range(2, newest + 1, newest + 500));
      const expected = range(2, newest - unsettled + 1, newest + 1).map((stamp) => stamp.toString('hex'));
      expect(await find(ALICE, 500, 2 * unsettled + 16)).to.deep.equal(expected.reverse());
    });
  }

  it('finds each entry once across generations, epochs and pages', async () => {
    const dice = random(runSeed());
    for (let round = 0; round < 40; round += 1) {
      await redis.del(...KEYS.unsettled);
      const stamps: Buffer[][] = [[], []];
      let sequence = dice.below(1_000);
      let epoch = 1;
      const turn = dice.below(60);
      const current = dice.below(2);
      for (let count = 0; count < 60; count += 1) {
        sequence += 1 + dice.below(3);
        if (dice.chance(0.05)) epoch += 1 + dice.below(100);
        stamps[count < turn ? current : 1 - current]!.push(stampOf(epoch, sequence));
      }
      await index(0, ALICE, stamps[0]!);
      await index(1, ALICE, stamps[1]!);
      // The engine and the reader each know a sequence up to which all is settled; the later one counts.
      const settled = sequence - dice.below(140);
      const earlier = sequence - 140 - dice.below(100);
      const isOfEngine = dice.chance(0.5);
      await redis.hset(KEYS.engine, 'settled', isOfEngine ? settled : earlier);
      const ofReader = Math.max(0, isOfEngine ? earlier : settled);
      const expected = stamps
        .flat()
        .filter((stamp) => stamp.readUIntBE(2, 6) > settled)
        .sort((one, other) => other.readUIntBE(2, 6) - one.readUIntBE(2, 6));
      const page = 1 + dice.below(30);
      expect(await find(ALICE, page, 4 * Math.max(page, 8) + 4, ofReader)).to.deep.equal(
        expected.map((stamp) => stamp.toString('hex')),
      );
      expect(await find(CAROL, page, 0)).to.deep.equal([]);
    }
  });

  /** Places orders of ALICE and returns the sequences of their events, oldest first. */
  async function placeMany(orders: number): Promise<number[]> {
    const placed: number[] = [];
    for (let left = orders; left > 0; left -= 100) {
      const placing = Array.from({ length: Math.min(100, left) }, () =>
        place(fixture.engine, ALICE, limit(M, 'sell', 10, 1)),
      );
      for (const { order } of await Promise.all(placing)) placed.push(order.sequence);
    }
    return placed.sort((one, other) => one - other);
  }

  const callsOf = async (command: string): Promise<number> =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info('commandstats'))?.[1] ?? 0);

  it('reads all events of a wallet in pages while nothing is settled', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 10_000n });
    const placed = await placeMany(1_100);
    const before = await callsOf('evalsha_ro');
    const events = await engine.outbox.readUnsettled(ALICE);
    expect((await callsOf('evalsha_ro')) - before).to.equal(3);
    const sequences = events.filter(({ kind }) => kind === 'order_placed').map(({ sequence }) => sequence);
    expect(sequences).to.deep.equal(placed);
    expect(events[0]!.kind).to.equal('credited');
  });

  describe('read in pages', () => {
    let credit: number;
    let placed: number[];

    beforeEach(async () => {
      await publishPlain(fixture.engine, M);
      await fund(fixture.engine, ALICE, { ETH: 10_000n });
      ({ sequence: credit } = await fixture.engine.reads.state());
      placed = await placeMany(600);
    });

    /** Reads the pages and runs `between` once, after some of them. Returns the sequences of each page. */
    async function read(
      between: () => Promise<unknown>,
      afterPages: number,
      engine = fixture.engine,
    ): Promise<{ sequences: number[]; isWhole: boolean }[]> {
      const pages: { sequences: number[]; isWhole: boolean }[] = [];
      for await (const { events, isWhole } of engine.outbox.unsettledPages(ALICE)) {
        pages.push({ sequences: events.map(({ sequence }) => sequence), isWhole });
        if (pages.length === afterPages) await between();
      }
      return pages;
    }

    const oldestFirst = (pages: readonly { readonly sequences: number[] }[]): number[] =>
      pages.toReversed().flatMap(({ sequences }) => sequences);

    it('reads only the pages that are asked for, the newest first', async () => {
      const before = [await callsOf('xrange'), await callsOf('evalsha_ro')];
      for await (const { events, isWhole } of fixture.engine.outbox.unsettledPages(ALICE)) {
        expect(events.map(({ sequence }) => sequence)).to.deep.equal(placed.slice(-50));
        expect(isWhole).to.equal(true);
        break;
      }
      const after = [await callsOf('xrange'), await callsOf('evalsha_ro')];
      expect(after.map((calls, at) => calls - before[at]!)).to.deep.equal([50, 1]);
    });

    it('ends at the events that Postgres has, which the reader asks for once', async () => {
      placed.push(...(await placeMany(600)));
      let asked = 0;
      const pages: number[] = [];
      const settledTo = async (): Promise<number> => {
        asked += 1;
        return placed[99]!;
      };
      for await (const { events, isWhole } of fixture.engine.outbox.unsettledPages(ALICE, settledTo)) {
        pages.unshift(...events.map(({ sequence }) => sequence));
        expect(isWhole).to.equal(true);
      }
      expect(pages).to.deep.equal(placed.slice(100));
      expect(asked).to.equal(1);
    });

    it('leaves out what happens after the first page', async () => {
      const pages = await read(() => placeMany(30), 1);
      expect(oldestFirst(pages)).to.deep.equal([credit, ...placed]);
      expect(pages.every(({ isWhole }) => isWhole)).to.equal(true);
    });

    it('ends at events that were settled meanwhile, also when their part of the index is dropped', async () => {
      const { engine } = fixture;
      const { epoch } = await engine.reads.state();
      const settle = async (sequence: number): Promise<void> => {
        await engine.outbox.trim({ epoch, sequence });
        for (const mark of ['mark:at', 'unsettled:ready_at']) {
          if ((await redis.hexists(KEYS.engine, mark)) === 1) await redis.hset(KEYS.engine, mark, '0');
        }
      };
      // The first part of the index ends here: later events stand in the other one.
      await settle(credit);
      await settle(credit);
      placed.push(...(await placeMany(600)));
      const settled = placed[599]!;
      const pages = await read(async () => {
        for (let trims = 0; trims < 4; trims += 1) await settle(settled);
      }, 7);
      expect(await redis.exists(...KEYS.unsettled)).to.equal(1);
      const sequences = oldestFirst(pages);
      expect(sequences).to.deep.equal(placed.slice(placed.indexOf(sequences[0]!)));
      expect(sequences[0]).to.be.at.most(settled + 1);
    });

    it('is incomplete when an event was settled and trimmed before it was read', async () => {
      await redis.xdel(KEYS.events, `1-${placed[520]}`);
      const pages = await read(async () => undefined, 1);
      expect(pages.map(({ isWhole }) => isWhole)).to.deep.equal([true, ...pages.slice(1).map(() => false)]);
      expect(oldestFirst(pages)).to.deep.equal([credit, ...placed.filter((_one, at) => at !== 520)]);
    });

    it('is incomplete at a replica that has not opened the engine', async () => {
      const engine = openEngine({ ...LIMITS, redis });
      const pages = await read(async () => undefined, 1, engine);
      expect(oldestFirst(pages)).to.deep.equal([credit, ...placed]);
      expect(pages.some(({ isWhole }) => isWhole)).to.equal(false);
    });

    it('is incomplete when the engine may be another one', async () => {
      const state = await fixture.engine.reads.state();
      const pages = await read(async () => {
        await changeState(redis, { epoch: state.epoch + 1 });
        await fixture.engine.lifecycle.confirm();
      }, 2);
      expect(oldestFirst(pages)).to.deep.equal([credit, ...placed]);
      expect(pages.map(({ isWhole }) => isWhole)).to.deep.equal(pages.map((_page, at) => at < 2));
    });

    for (const [lost, lose] of [
      ['emptied', () => redis.flushdb()],
      ['without the index', () => redis.del(...KEYS.unsettled)],
      [
        'a copy that lacks the last page',
        () =>
          redis.zremrangebylex(
            KEYS.unsettled[0],
            Buffer.concat([Buffer.from('['), memberOf(placed[300]!)]),
            '+',
          ),
      ],
    ] as const) {
      it(`is rejected when the engine is ${lost} between two scripts`, async () => {
        expect(await codeOf(read(lose, 5))).to.equal('SERVICE_UNAVAILABLE');
      });
    }

    it('is rejected by an engine that lacks an event which the replica knows', async () => {
      await changeState(redis, { sequence: placed.at(-2)! });
      expect(await codeOf(read(async () => undefined, 1))).to.equal('SERVICE_UNAVAILABLE');
      expect(fixture.engine.lifecycle.isOpen()).to.equal(false);
    });
  });

  it('rejects a wallet with more events than a list may read, and no other, until they are settled', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M);
    await fund(engine, BOB, { ETH: 1n });
    const { sequence } = await engine.reads.state();
    await index(0, ALICE, range(1, sequence + 1, sequence + 30_001));
    await changeState(redis, { sequence: sequence + 30_000 });
    const before = await callsOf('xrange');
    expect(await codeOf(engine.outbox.readUnsettled(ALICE))).to.equal('SERVICE_UNAVAILABLE');
    expect((await callsOf('xrange')) - before).to.equal(250);
    expect(await find(ALICE, 500, 2_048)).to.have.length(30_000);
    expect(await engine.outbox.readUnsettled(BOB)).to.have.length(1);
    // The reader learns that Postgres has most of them before the engine does.
    const settledTo = sequence + 25_000;
    const pages: number[] = [];
    for await (const { events } of engine.outbox.unsettledPages(ALICE, async () => settledTo))
      pages.push(events.length);
    expect(pages).to.deep.equal(Array(100).fill(0)); // in the stream there are none
    await redis.hset(KEYS.engine, 'settled', settledTo);
    expect(await engine.outbox.readUnsettled(ALICE)).to.deep.equal([]);
  });

  it('rejects events that are larger than a list may read', async () => {
    const { engine } = fixture;
    // The event of a switch is JSON, which may be padded.
    const event = Buffer.concat([HEAD_OF_A_SWITCH, Buffer.from(`{}${' '.repeat(200_000)}`)]);
    for (let events = 0; events < 450; events += 1) {
      const sequence = 10 + events;
      await redis.xadd(KEYS.events, `1-${sequence}`, 'e', event);
    }
    await index(0, ALICE, range(1, 10, 460));
    await index(0, BOB, range(1, 10, 110));
    expect(await codeOf(engine.outbox.readUnsettled(ALICE))).to.equal('SERVICE_UNAVAILABLE');
    expect(await engine.outbox.readUnsettled(BOB)).to.have.length(100);
  });

  it('asks to try again when the engine is emptied between the read of an event and that of its market', async () => {
    const { engine } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 1n });
    await place(engine, ALICE, limit(M, 'sell', 10, 1));
    const reader = await fixture.replica(); // has not read the markets yet
    await redis.del(KEYS.markets);
    const read = reader.outbox.readEvents({ epoch: 0, sequence: 0 }, 10);
    expect(await codeOf(read)).to.equal('SERVICE_UNAVAILABLE');
  });
});
