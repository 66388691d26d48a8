/** Tests the layout of the claim filter, its load, and the amount of it that one command touches. */

import { expect } from 'chai';
import { claimOfUsed, orderClaim, type UsedId } from '../../src/engine/claims.ts';
import {
  FILTER_PART_BYTES,
  FilterBits,
  filterKeys,
  loadOf,
  placeInFilter,
  readFilterState,
  writeFilterState,
} from '../../src/engine/filter-layout.ts';
import { fillFilter } from '../../src/engine/filter-rebuild.ts';
import { openEngine } from '../../src/engine/index.ts';
import { LIMITS } from '../support/limits.ts';
import {
  ALICE,
  codeOf,
  type EngineFixture,
  fund,
  limit,
  openEngineFixture,
  place,
  publishPlain,
} from './fixture.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

function* someIds(count: number): Generator<UsedId> {
  for (let at = 0; at < count; at += 1) yield { kind: 'order', wallet: ALICE, clientOrderId: `id ${at}` };
}

describe('the claim filter', () => {
  it('keeps the layout of an engine that knows no sizes', () => {
    const { current, next } = readFilterState(null);
    expect({ current, next }).to.deep.equal({ current: { generation: 0, bytes: 16 * MIB }, next: null });
    expect(filterKeys(current)).to.deep.equal(['{redbook}:claim-filter']);
  });

  it('reads the layout that it writes', () => {
    const [current, next] = [
      { generation: 3, bytes: MIB },
      { generation: 7, bytes: 64 * MIB },
    ];
    for (const state of [
      { current, next: null },
      { current, next },
    ])
      expect(readFilterState(writeFilterState(state.current, state.next))).to.deep.include(state);
  });

  it('stores its bits in strings of at most 16 MiB', () => {
    const layout = { generation: 2, bytes: 64 * MIB };
    const keys = filterKeys(layout);
    expect(keys).to.have.length(4);
    const used = new Set<string>();
    for (const id of someIds(200)) {
      const { key, offset } = placeInFilter(claimOfUsed(id), layout);
      used.add(key);
      expect(offset % 8).to.equal(0);
      expect(offset).to.be.below(FILTER_PART_BYTES);
    }
    expect([...used].sort()).to.deep.equal(keys);
  });

  it('is filled in pieces of at most 64 KiB, whatever its size', async () => {
    const layout = { generation: 1, bytes: 32 * MIB };
    const whole = new FilterBits(layout);
    for (const id of someIds(500)) whole.add(claimOfUsed(id));
    const written = new FilterBits(layout);
    const count = await fillFilter(
      layout,
      async function* () {
        yield* someIds(500);
      },
      async (key, offset, piece) => {
        expect(piece.length).to.be.at.most(64 * KIB);
        piece.copy(written.bytes, filterKeys(layout).indexOf(key) * FILTER_PART_BYTES + offset);
      },
    );
    expect(count).to.equal(500);
    expect(written.bytes.equals(whole.bytes)).to.equal(true);
    for (const id of someIds(500)) expect(whole.has(claimOfUsed(id))).to.equal(true);
    expect(whole.has(orderClaim(ALICE, 'never'))).to.equal(false);
  });

  for (const perBlock of [0.1, 1, 4, 10])
    it(`estimates its number of ids and its error rate at ${perBlock} ids a block`, () => {
      const layout = { generation: 0, bytes: 64 * KIB };
      const bits = new FilterBits(layout);
      const ids = perBlock * (layout.bytes / 8);
      for (const id of someIds(ids)) bits.add(claimOfUsed(id));
      const load = loadOf(layout, [bits.bytes]);
      expect(load.ids / ids).to.be.within(0.95, 1.05);
      let [asked, errs] = [0, 0];
      for (let at = 0; at < 20_000; at += 1) {
        asked += 1;
        if (bits.has(orderClaim(ALICE, `other ${at}`)) === true) errs += 1;
      }
      expect(errs / asked).to.be.closeTo(load.falsePositiveRatio, 0.015);
    });

  it('reports a finite load when every bit is set', () => {
    const full = loadOf({ generation: 0, bytes: 64 * KIB }, [Buffer.alloc(64 * KIB, 0xff)]);
    expect(full).to.include({ setRatio: 1, falsePositiveRatio: 1 });
    expect(Number.isFinite(full.ids)).to.equal(true);
  });

  describe('of an engine', () => {
    let fixture: EngineFixture;
    beforeEach(async () => {
      fixture = await openEngineFixture({ claimFilterBytes: 128 * KIB });
      await publishPlain(fixture.engine, 'ETH/USDC');
      await fund(fixture.engine, ALICE, { USDC: 1_000_000n });
    });
    afterEach(() => fixture.close());

    it('keeps the size of the first process when another process has another setting', async () => {
      const other = openEngine({ redis: fixture.redis, ...LIMITS, claimFilterBytes: 64 * KIB });
      await other.lifecycle.open({ epoch: 0, sequence: 0 });
      for (let at = 0; at < 50; at += 1) {
        const [placing, looking] = at % 2 === 0 ? [fixture.engine, other] : [other, fixture.engine];
        await place(placing, ALICE, limit('ETH/USDC', 'buy', 1, 1, { clientOrderId: `id ${at}` }));
        expect((await looking.orders.find(ALICE, `id ${at}`)).outcome).to.equal('claimed');
      }
      expect(await fixture.redis.strlen('{redbook}:claim-filter')).to.be.above(64 * KIB);
      for (const engine of [fixture.engine, other]) {
        const load = await engine.claimFilter.load();
        expect(load.bytes).to.equal(128 * KIB);
        expect(load.ids).to.be.within(15, 120);
      }
    });

    it('estimates its load from a sample of 64 KiB', async () => {
      await fixture.redis.hset('{redbook}:engine', 'filter', `5/${32 * MIB}`);
      for (const part of [0, 1])
        await fixture.redis.setrange(`{redbook}:claim-filter:5:${part}`, 0, Buffer.alloc(16 * MIB, 0x0f));
      await fixture.redis.config('RESETSTAT');
      const load = await fixture.engine.claimFilter.load();
      expect(load).to.include({ bytes: 32 * MIB, setRatio: 0.5 });
      expect(load.falsePositiveRatio).to.be.closeTo(0.5 ** 5, 1e-9);
      expect(await fixture.redis.info('commandstats')).to.match(/cmdstat_getrange:calls=16,/);
    });
  });

  it('is not created on an emptied server, where it would pass for an engine of another format', async () => {
    const fixture = await openEngineFixture();
    try {
      await fixture.redis.flushdb();
      const source = { untilSettled: async () => undefined, async *usedIds() {} };
      expect(await codeOf(fixture.engine.claimFilter.rebuild(source))).to.equal('REBUILD_REPLACED');
      expect(await fixture.redis.keys('*')).to.deep.equal([]);
    } finally {
      fixture.close();
    }
  });
});
