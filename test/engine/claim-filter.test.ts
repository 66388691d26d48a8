/** Tests the layout of the claim filter, its load, and the amount of it that one command touches. */

import { expect } from 'chai';
import { claimOfUsed, orderClaim, type UsedId } from '../../src/engine/claims.ts';
import { fillFilter } from '../../src/engine/filter-growth.ts';
import {
  FILTER_PART_BYTES,
  FilterBits,
  filterKeys,
  loadOf,
  placeInFilter,
  readFilterState,
  writeFilterState,
} from '../../src/engine/filter-layout.ts';
import { type Engine, type EngineMoment, openEngine } from '../../src/engine/index.ts';
import { claimFilterKey, KEYS } from '../../src/engine/keys.ts';
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
  it('reads the layout that it writes', () => {
    const current = { serial: 3, bytes: MIB };
    const sealed = [
      { serial: 0, bytes: 64 * KIB },
      { serial: 2, bytes: MIB },
    ];
    for (const state of [
      { current, sealed: [] },
      { current, sealed },
    ])
      expect(readFilterState(writeFilterState(state.current, state.sealed))).to.deep.include(state);
  });

  it('stores its bits in strings of at most 16 MiB', () => {
    const layout = { serial: 2, bytes: 64 * MIB };
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
    const layout = { serial: 1, bytes: 32 * MIB };
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
      const layout = { serial: 0, bytes: 64 * KIB };
      const bits = new FilterBits(layout);
      const ids = perBlock * (layout.bytes / 8);
      for (const id of someIds(ids)) bits.add(claimOfUsed(id));
      const load = loadOf(layout, [bits.bytes]);
      expect(load.ids / ids).to.be.within(0.95, 1.05);
      let asked = 0;
      let errs = 0;
      for (let at = 0; at < 20_000; at += 1) {
        asked += 1;
        if (bits.has(orderClaim(ALICE, `other ${at}`)) === true) errs += 1;
      }
      expect(errs / asked).to.be.closeTo(load.falsePositiveRatio, 0.015);
    });

  it('reports a finite load when every bit is set', () => {
    const full = loadOf({ serial: 0, bytes: 64 * KIB }, [Buffer.alloc(64 * KIB, 0xff)]);
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

  describe('of an engine that is full', () => {
    let fixture: EngineFixture;
    /** A process that has not read yet that a filter was sealed. */
    let late: Engine;
    const order = (id: string) => limit('ETH/USDC', 'buy', 1, 1, { clientOrderId: id });
    const fields = () => fixture.redis.hget(KEYS.engine, 'filter');
    /** Removes what the engine remembers of recent ids, as if Postgres had had them for long. */
    const forget = () => fixture.redis.unlink(...KEYS.claims);
    const placedBy = (engine: Engine, id: string, checked?: EngineMoment) =>
      engine.orders.place({ wallet: ALICE, request: order(id), ...(checked && { checked }) });
    let first: string;

    beforeEach(async () => {
      fixture = await openEngineFixture({ claimFilterBytes: 64 * KIB });
      const { engine } = fixture;
      await publishPlain(engine, 'ETH/USDC');
      await fund(engine, ALICE, { USDC: 1_000_000n });
      first = (await place(engine, ALICE, order('id 0'))).order.id;
      const credit = { kind: 'credited', wallet: ALICE, asset: 'USDC', amountAtoms: 1n } as const;
      await engine.funds.move({ ...credit, reference: 'a deposit' });
      expect(await engine.claimFilter.grow()).to.equal(null);
      const others = new FilterBits({ serial: 0, bytes: 64 * KIB });
      for (const id of someIds(40_000)) others.add(claimOfUsed(id));
      const found = await fixture.redis.getrangeBuffer(claimFilterKey(0, 0), 0, 64 * KIB);
      found.forEach((byte, at) => {
        others.bytes[at]! |= byte;
      });
      await fixture.redis.set(claimFilterKey(0, 0), others.bytes);
      late = await fixture.replica();
      expect(await engine.claimFilter.grow()).to.equal(128 * KIB);
    });
    afterEach(() => fixture.close());

    it('seals its filter and goes on with a larger one, again and again', async () => {
      expect(await fields()).to.equal(`1/${128 * KIB}+0/${64 * KIB}`);
      expect(await fixture.engine.claimFilter.grow()).to.equal(null);
      const sealed = await fixture.redis.getrangeBuffer(claimFilterKey(0, 0), 0, -1);
      for (let at = 0; at < 20; at += 1) await placedBy(fixture.engine, `new ${at}`);
      const later = await fixture.redis.getrangeBuffer(claimFilterKey(0, 0), 0, -1);
      expect(later.equals(sealed)).to.equal(true);
      await fixture.redis.setrange(claimFilterKey(1, 0), 0, Buffer.alloc(128 * KIB, 0xff));
      expect(await fixture.engine.claimFilter.grow()).to.equal(256 * KIB);
      expect(await fields()).to.equal(`2/${256 * KIB}+0/${64 * KIB}+1/${128 * KIB}`);
      const { bytes, ids, falsePositiveRatio } = await fixture.engine.claimFilter.load();
      expect(bytes).to.equal((64 + 128 + 256) * KIB);
      expect(ids).to.be.above(40_000);
      expect(falsePositiveRatio).to.equal(1);
    });

    it('knows the ids of before, in every process, also when only the filter remembers them', async () => {
      for (const engine of [late, fixture.engine]) {
        expect(await placedBy(engine, 'id 0')).to.deep.equal({ outcome: 'claimed', orderId: first });
        expect(await engine.orders.find(ALICE, 'id 0')).to.deep.equal({ outcome: 'claimed', orderId: first });
      }
      const credit = { kind: 'credited', wallet: ALICE, asset: 'USDC', amountAtoms: 1n } as const;
      const again = await late.funds.move({ ...credit, reference: 'a deposit' });
      const checked = again.outcome === 'unchecked' ? again.moment : undefined;
      expect(checked).to.not.equal(undefined);
      const told = await late.funds.move({ ...credit, reference: 'a deposit' }, checked);
      expect(told.outcome).to.equal('claimed');
      await forget();
      for (const engine of [fixture.engine, await fixture.replica()]) {
        expect((await placedBy(engine, 'id 0')).outcome).to.equal('unchecked');
        expect(await engine.orders.find(ALICE, 'id 0')).to.deep.equal({ outcome: 'unchecked' });
      }
    });

    it('places under an id that Postgres does not know, once', async () => {
      await forget();
      const asked = await placedBy(fixture.engine, 'id 7');
      const checked = asked.outcome === 'unchecked' ? asked.moment : undefined;
      expect((await placedBy(late, 'id 7', checked)).outcome).to.equal('placed');
      expect((await placedBy(fixture.engine, 'id 7', checked)).outcome).to.equal('claimed');
      expect((await placedBy(fixture.engine, 'id 7')).outcome).to.equal('claimed');
    });

    it('costs a new id one pipeline more, whatever the number of filters', async () => {
      let unused = 0;
      while (sealedHas(`new ${unused}`)) unused += 1;
      await placedBy(fixture.engine, `new ${unused}`);
      for (unused += 1; sealedHas(`new ${unused}`); ) unused += 1;
      await fixture.redis.config('RESETSTAT');
      expect((await placedBy(fixture.engine, `new ${unused}`)).outcome).to.equal('placed');
      const stats = await fixture.redis.info('commandstats');
      // One block of the sealed filter, and one of the other in the script.
      expect(stats)
        .to.match(/cmdstat_getrange:calls=2,/)
        .and.match(/cmdstat_evalsha:calls=1,/);
    });
    const sealedHas = (id: string): boolean => {
      const bits = new FilterBits({ serial: 0, bytes: 64 * KIB });
      for (const used of someIds(40_000)) bits.add(claimOfUsed(used));
      return bits.has(orderClaim(ALICE, id)) === true;
    };

    it('is copied whole, the sealed part and the other', async () => {
      await placedBy(fixture.engine, 'after');
      const ids = ['id 0', 'after'].map(
        (clientOrderId) => ({ kind: 'order', wallet: ALICE, clientOrderId }) as const,
      );
      const known = new Map<string, boolean[]>();
      for await (const copy of fixture.engine.claimFilter.copy())
        for (const id of ids) {
          const has = copy.has(id);
          if (has !== undefined) known.set(id.clientOrderId, [...(known.get(id.clientOrderId) ?? []), has]);
        }
      expect([...known]).to.have.deep.members([
        ['id 0', [true]],
        ['after', [true]],
      ]);
    });

    it('does not grow beyond the memory of its server, and says so', async () => {
      await fixture.redis.setrange(claimFilterKey(1, 0), 0, Buffer.alloc(128 * KIB, 0xff));
      await fixture.redis.config('SET', 'maxmemory', '1mb');
      try {
        expect(await codeOf(fixture.engine.claimFilter.grow())).to.equal('ENGINE_TOO_SMALL');
      } finally {
        await fixture.redis.config('SET', 'maxmemory', '0');
      }
      expect(await fields()).to.equal(`1/${128 * KIB}+0/${64 * KIB}`);
    });
  });

  it('is sealed by one of many processes, and keeps what was written before it has its whole length', async () => {
    const fixture = await openEngineFixture({ claimFilterBytes: 64 * KIB });
    try {
      const { engine, redis } = fixture;
      await publishPlain(engine, 'ETH/USDC');
      await fund(engine, ALICE, { USDC: 1_000_000n });
      await redis.set(claimFilterKey(0, 0), Buffer.alloc(64 * KIB, 0xff));
      await redis.setrange(claimFilterKey(1, 0), 0, Buffer.alloc(128 * KIB, 0x01));
      const replicas = await Promise.all(Array.from({ length: 9 }, () => fixture.replica()));
      const processes = [engine, ...replicas];
      const grown = await Promise.all(processes.map((one) => one.claimFilter.grow()));
      expect(grown.filter((bytes) => bytes !== null)).to.deep.equal([128 * KIB]);
      const found = await redis.getrangeBuffer(claimFilterKey(1, 0), 0, -1);
      expect(found.equals(Buffer.alloc(128 * KIB, 0x01))).to.equal(true);
    } finally {
      fixture.close();
    }
  });

  it('is not created on an emptied server, where it would pass for an engine of another format', async () => {
    const fixture = await openEngineFixture({ claimFilterBytes: 64 * KIB });
    try {
      await fixture.redis.flushdb();
      await fixture.redis.set(claimFilterKey(0, 0), Buffer.alloc(64 * KIB, 0xff));
      expect(await fixture.engine.claimFilter.grow().catch(() => null)).to.equal(null);
      expect(await fixture.redis.keys('*')).to.deep.equal([claimFilterKey(0, 0)]);
    } finally {
      fixture.close();
    }
  });
});
