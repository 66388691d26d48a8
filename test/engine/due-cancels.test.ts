/** Tests dead-man switches at the engine: set, renewed, taken once, and cancelled up to one cut-off by any worker. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { walletBytes } from '../../src/engine/codec.ts';
import { type CancelledPage, type DueCancel, type Engine, openEngine } from '../../src/engine/index.ts';
import { balancesKey, KEYS } from '../../src/engine/keys.ts';
import { CLOCK_KEY, loadOnSimulatedClock } from '../proofs/simulation/simulated-redis.ts';
import { liveContents } from '../support/engine-contents.ts';
import { LIMITS } from '../support/limits.ts';
import {
  ALICE,
  BOB,
  CAROL,
  dump,
  type EngineFixture,
  eventsOf,
  expectConserved,
  fund,
  limit,
  openEngineFixture,
  place,
  publishPlain,
} from './fixture.ts';

const M = 'ETH/USD';
const N = 'SOL/USD';
const LEASE_MS = 60_000;
const HOUR_MS = 3_600_000;
const walletOf = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

describe('engine: dead-man switches', () => {
  let fixture: EngineFixture;
  let one: Engine;
  let other: Engine;
  let scripts: string[];

  beforeEach(async () => {
    scripts = [];
    fixture = await openEngineFixture({ observe: (script) => scripts.push(script) });
    one = fixture.engine;
    other = await fixture.replica();
    await publishPlain(one, M);
    await publishPlain(one, N);
    for (const wallet of [ALICE, BOB]) await fund(one, wallet, { ETH: 10_000n, SOL: 10_000n });
  });
  afterEach(() => fixture.close());

  /** Ages a switch, because a due one would otherwise take five seconds. */
  const age = (wallet: string, ms: number): Promise<unknown> =>
    fixture.redis.zincrby(KEYS.cancelAfter, -ms, walletBytes(wallet));
  const makeDue = async (wallet: string): Promise<void> => {
    await one.dueCancels.set(wallet, HOUR_MS);
    await age(wallet, HOUR_MS + 1);
  };
  const rest = async (wallet: string, market: string, count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let price = 1; price <= count; price += 1) {
      ids.push((await place(one, wallet, limit(market, 'sell', price, 1))).order.id);
    }
    return ids;
  };
  const cancelPages = async (engine: Engine, due: DueCancel): Promise<CancelledPage[]> => {
    const pages: CancelledPage[] = [];
    let next: Buffer | null = null;
    do {
      const page: CancelledPage = await engine.dueCancels.cancelPage(due, next);
      pages.push(page);
      next = page.next;
    } while (next !== null);
    return pages;
  };
  const takeOne = async (engine: Engine): Promise<DueCancel> => {
    const { taken } = await engine.dueCancels.take(10, LEASE_MS);
    expect(taken).to.have.length(1);
    return taken[0]!;
  };
  const liveIds = async (): Promise<string[]> => [...(await liveContents(one)).keys()];

  it('are set, renewed and switched off by any replica, one a wallet, without an event', async () => {
    const events = await eventsOf(one);
    const beforeMs = await one.reads.time();
    const first = await one.dueCancels.set(ALICE, 5_000);
    expect(first! - beforeMs).to.be.within(5_000, 15_000);
    expect(await other.dueCancels.set(ALICE, 86_400_000)).to.be.at.least(first! + 86_395_000);
    expect(await one.dueCancels.set(BOB, 5_000)).to.be.a('number');
    expect(await fixture.redis.zcard(KEYS.cancelAfter)).to.equal(2);
    expect(await other.dueCancels.set(ALICE, 0)).to.equal(null);
    expect(await other.dueCancels.set(ALICE, 0)).to.equal(null);
    const { taken, timeMs, nextDueMs, nextLeaseMs } = await one.dueCancels.take(10, LEASE_MS);
    expect(taken).to.deep.equal([]);
    expect([nextDueMs! > timeMs, nextLeaseMs]).to.deep.equal([true, null]);
    expect(await eventsOf(one)).to.deep.equal(events);
  });

  it('are taken once each by replicas that look at the same time, at most as many as asked for', async () => {
    const wallets = Array.from({ length: 100 }, (_, index) => walletOf(index));
    for (const wallet of wallets) {
      await fund(one, wallet, { ETH: 1n });
      await rest(wallet, M, 1);
    }
    await Promise.all(wallets.map(makeDue));
    const looks = await Promise.all(
      Array.from({ length: 30 }, (_, index) => [one, other][index % 2]!.dueCancels.take(7, LEASE_MS)),
    );
    for (const { taken } of looks) expect(taken.length).to.be.at.most(7);
    const taken = looks.flatMap((look) => look.taken.map(({ wallet }) => wallet));
    expect(taken.sort()).to.deep.equal(wallets);
    expect(await fixture.redis.zcard(KEYS.cancelAfter)).to.equal(0);
    expect(await fixture.redis.zcard(KEYS.cancelAfterLeases)).to.equal(100);
  });

  it('end without a lease when their wallets have no live order, a thousand in a call', async () => {
    await rest(ALICE, M, 1);
    const empty = Array.from({ length: 1_500 }, (_, index) => walletOf(index));
    await Promise.all(empty.map((wallet) => one.dueCancels.set(wallet, HOUR_MS)));
    await one.dueCancels.set(ALICE, HOUR_MS);
    for (const wallet of empty) await age(wallet, HOUR_MS + 2);
    await age(ALICE, HOUR_MS + 1);
    const first = await one.dueCancels.take(1, LEASE_MS);
    expect([first.taken.length, first.ended, first.nextDueMs! <= first.timeMs]).to.deep.equal([
      0,
      1_000,
      true,
    ]);
    const second = await other.dueCancels.take(1, LEASE_MS);
    expect(second.taken.map(({ wallet }) => wallet)).to.deep.equal([ALICE]);
    expect([second.ended, second.nextDueMs]).to.deep.equal([500, null]);
    const cutOffs = await fixture.redis.hkeysBuffer(KEYS.cancelAfterCutOffs);
    expect(cutOffs).to.deep.equal([walletBytes(ALICE)]);
  });

  it('cancel the orders of all markets that stood when they were taken, in pages, and no later ones', async () => {
    const before = [...(await rest(ALICE, M, 130)), ...(await rest(ALICE, N, 95))];
    const foreign = await rest(BOB, M, 2);
    await makeDue(ALICE);
    const due = await takeOne(one);
    // Later orders are between the earlier ones, because the list is sorted by price before age.
    const later = [...(await rest(ALICE, M, 60)), ...(await rest(ALICE, N, 60))];
    scripts.length = 0;
    const pages = await cancelPages(one, due);
    expect(pages.every(({ closed }) => closed.length <= 100)).to.equal(true);
    expect(scripts.filter((name) => name === 'cancel_orders').length).to.be.at.most(pages.length + 2);
    expect(scripts.filter((name) => name === 'find_live_orders')).to.have.length(pages.length);
    const closed = pages.flatMap((page) => page.closed.map(({ id }) => id));
    expect(closed).to.have.members(before);
    expect(await liveIds()).to.have.members([...foreign, ...later]);
    await one.dueCancels.lease(due, null);
    expect((await one.dueCancels.take(10, LEASE_MS)).nextLeaseMs).to.equal(null);
    for (const asset of ['ETH', 'SOL']) await expectConserved(one, asset);
  });

  it('keep to their wallets at both ends of the byte order', async () => {
    const ends = ['00', 'ff'].map((byte) => `0x${byte.repeat(20)}`);
    for (const wallet of ends) {
      await fund(one, wallet, { ETH: 10n });
      await rest(wallet, M, 2);
    }
    const foreign = await rest(BOB, M, 1);
    for (const wallet of ends) {
      await makeDue(wallet);
      await cancelPages(one, await takeOne(one));
    }
    expect(await liveIds()).to.deep.equal(foreign);
  });

  it('are taken again with the same cut-off when the lease of a dead replica ends', async () => {
    await rest(ALICE, M, 150);
    await makeDue(ALICE);
    const due = await takeOne(one);
    await one.dueCancels.cancelPage(due, null);
    const later = await rest(ALICE, M, 3);
    expect((await other.dueCancels.take(10, LEASE_MS)).taken, 'under lease').to.deep.equal([]);
    await fixture.redis.zincrby(KEYS.cancelAfterLeases, -LEASE_MS, walletBytes(ALICE));
    const again = await takeOne(other);
    expect(again).to.deep.equal(due);
    await cancelPages(other, again);
    expect(await liveIds()).to.have.members(later);
    expect(await other.dueCancels.lease(again, null)).to.equal(true);
    expect(await one.dueCancels.lease(due, LEASE_MS)).to.equal(false);
    expect((await one.dueCancels.take(10, LEASE_MS)).nextLeaseMs, 'an ended one').to.equal(null);
  });

  it('cancel each order once when two replicas fire the same switch', async () => {
    const ids = await rest(ALICE, M, 230);
    await makeDue(ALICE);
    const due = await takeOne(one);
    const pages = (await Promise.all([one, other, one].map((engine) => cancelPages(engine, due)))).flat();
    expect(pages.flatMap((page) => page.closed.map(({ id }) => id)).sort()).to.deep.equal(ids.sort());
    const ends = await Promise.all([one, other].map((engine) => engine.dueCancels.lease(due, null)));
    expect(ends.sort()).to.deep.equal([false, true]);
    await expectConserved(one, 'ETH');
  });

  it('stay set when they were set while an earlier one fired', async () => {
    await rest(ALICE, M, 3);
    await makeDue(ALICE);
    const due = await takeOne(one);
    const dueAgain = await other.dueCancels.set(ALICE, HOUR_MS);
    await cancelPages(one, due);
    await one.dueCancels.lease(due, null);
    const { taken, nextDueMs } = await one.dueCancels.take(10, LEASE_MS);
    expect([taken, nextDueMs]).to.deep.equal([[], dueAgain]);
  });

  it('move the cut-off on when they fall due while an earlier one fires', async () => {
    await rest(ALICE, M, 2);
    await makeDue(ALICE);
    const due = await takeOne(one);
    const between = await rest(ALICE, M, 2);
    await makeDue(ALICE);
    const later = await takeOne(other);
    expect(later.cutOff.equals(due.cutOff)).to.equal(false);
    await cancelPages(one, due);
    await one.dueCancels.lease(due, null);
    expect(await liveIds()).to.have.members(between);
    await other.dueCancels.lease(later, 0);
    const again = await takeOne(one);
    expect(again).to.deep.equal(later);
    await cancelPages(one, again);
    expect(await liveIds()).to.deep.equal([]);
  });

  it('never fire when they are renewed in time, also by racing renewals', async () => {
    let dueMs = 0;
    for (let renewedMs = Number.POSITIVE_INFINITY; renewedMs >= dueMs; renewedMs = await one.reads.time()) {
      await one.dueCancels.set(ALICE, HOUR_MS);
      await age(ALICE, HOUR_MS - 500);
      dueMs = Number(await fixture.redis.zscore(KEYS.cancelAfter, walletBytes(ALICE)));
      const looks = Array.from({ length: 20 }, (_, index) =>
        [one, other][index % 2]!.dueCancels.take(10, LEASE_MS),
      );
      const renewals = Array.from({ length: 100 }, (_, index) =>
        [one, other][index % 2]!.dueCancels.set(ALICE, HOUR_MS),
      );
      await Promise.all([...renewals, ...looks]);
    }
    await sleep(dueMs + 10 - (await one.reads.time()));
    expect(await one.reads.time()).to.be.greaterThan(dueMs);
    expect((await other.dueCancels.take(10, LEASE_MS)).taken).to.deep.equal([]);
  });

  it('are renewed by a call before they are taken, and set anew by a call after it', async () => {
    await fund(one, CAROL, { ETH: 1n });
    await rest(CAROL, M, 1);
    for (let round = 0; round < 10; round += 1) {
      await makeDue(CAROL);
      const calls = Array.from({ length: 20 }, (_, index) =>
        index === round * 2
          ? one.dueCancels.take(10, LEASE_MS).then(({ taken }) => taken)
          : other.dueCancels.set(CAROL, HOUR_MS).then(() => []),
      );
      const taken = (await Promise.all(calls)).flat();
      expect(taken.length).to.be.at.most(1);
      expect((await one.dueCancels.take(10, LEASE_MS)).taken, 'a renewed one').to.deep.equal([]);
      expect(await fixture.redis.zcard(KEYS.cancelAfter)).to.equal(1);
      for (const due of taken) await one.dueCancels.lease(due, null);
    }
  });

  it('cancel in the other markets when a reservation of one market is missing', async () => {
    await rest(ALICE, M, 2);
    await rest(ALICE, N, 2);
    const reserved = Buffer.concat([walletBytes(ALICE), Buffer.from('r')]);
    await fixture.redis.hset(balancesKey('ETH'), reserved, '1');
    await makeDue(ALICE);
    const [page] = await cancelPages(one, await takeOne(one));
    expect(page!.closed.map(({ market }) => market)).to.deep.equal([N, N]);
    expect(page!.failures.map(({ message }) => message)).to.have.length(1);
    expect(page!.failures[0]!.message).to.match(/a reservation of ETH\/USD is missing/);
  });

  it('take less than 200 bytes of memory each', async () => {
    const count = 5_000;
    for (let at = 0; at < count; at += 1_000) {
      await Promise.all(
        Array.from({ length: 1_000 }, (_, index) => one.dueCancels.set(walletOf(at + index), HOUR_MS)),
      );
    }
    const bytes = Number(await fixture.redis.memory('USAGE', KEYS.cancelAfter, 'SAMPLES', 0));
    expect(bytes / count).to.be.lessThan(200);
  });
});

describe("engine: dead-man switches while the server's clock steps", () => {
  const START_MS = 1_800_000_000_000;
  let fixture: EngineFixture;
  let engine: Engine;
  let nowMs: number;

  const setClock = async (timeMs: number): Promise<void> => {
    nowMs = timeMs;
    await fixture.redis.hset(
      CLOCK_KEY,
      'seconds',
      Math.floor(nowMs / 1_000),
      'microseconds',
      (nowMs % 1_000) * 1_000,
    );
  };
  /** Time goes by, while processes look for due switches. @returns milliseconds until the first one was taken */
  const untilTaken = async (maxMs: number): Promise<number | undefined> => {
    for (let passedMs = 0; passedMs <= maxMs; passedMs += 500) {
      if ((await engine.dueCancels.take(10, LEASE_MS)).taken.length > 0) return passedMs;
      await setClock(nowMs + 500);
    }
    return undefined;
  };

  beforeEach(async () => {
    fixture = await openEngineFixture();
    await setClock(START_MS);
    const { redis } = fixture;
    engine = openEngine({ ...LIMITS, redis, load: loadOnSimulatedClock });
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: 10n });
    await place(engine, ALICE, limit(M, 'sell', 10, 1));
  });
  afterEach(() => fixture.close());

  it('fire in time when they were set while the clock was an hour ahead', async () => {
    await setClock(START_MS + HOUR_MS);
    await engine.dueCancels.set(ALICE, 10_000);
    await fund(engine, ALICE, { ETH: 1n });
    expect(await untilTaken(3_000)).to.equal(undefined);
    await setClock(nowMs - HOUR_MS);
    expect(await untilTaken(60_000)).to.be.within(6_000, 7_000);
  });

  it('fire in time when they were set after the clock stepped back behind the last events', async () => {
    await setClock(START_MS + HOUR_MS);
    await fund(engine, ALICE, { ETH: 1n });
    await setClock(START_MS);
    expect(await engine.dueCancels.set(ALICE, 10_000)).to.equal(START_MS + 10_000);
    expect(await untilTaken(60_000)).to.equal(10_000);
  });

  it('never fire early when the clock steps back repeatedly', async () => {
    await engine.dueCancels.set(ALICE, 10_000);
    for (let step = 0; step < 5; step += 1) {
      expect(await untilTaken(1_000)).to.equal(undefined);
      await setClock(nowMs - HOUR_MS);
    }
    // Each interval of the loop above was 1.5 s, of which a look may have missed the last half second.
    expect(await untilTaken(60_000)).to.be.within(2_500, 5_000);
  });

  it('expire leases on time and report the present clock after the clock steps back', async () => {
    await setClock(START_MS + HOUR_MS);
    await engine.dueCancels.set(ALICE, 5_000);
    await setClock(nowMs + 5_000);
    const [due] = (await engine.dueCancels.take(10, LEASE_MS)).taken;
    expect(due!.dueMs).to.equal(START_MS + HOUR_MS + 5_000);
    await setClock(START_MS);
    const { timeMs, nextLeaseMs } = await engine.dueCancels.take(10, LEASE_MS);
    expect([timeMs, nextLeaseMs]).to.deep.equal([START_MS, START_MS + LEASE_MS]);
    expect(await engine.dueCancels.lease(due!, 1_000)).to.equal(true);
    expect(await untilTaken(10_000)).to.equal(1_000);
  });

  it('cause no writes while none is set', async () => {
    const before = await dump(fixture.redis);
    expect(await untilTaken(5_000)).to.equal(undefined);
    await setClock(START_MS);
    expect(await dump(fixture.redis)).to.deep.equal(before);
  });
});
