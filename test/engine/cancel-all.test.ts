/** Tests the work of cancelling all orders of a wallet: the orders that scripts read, and the calls that run at once. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { LIMITS } from '../support/limits.ts';
import { openRedis } from '../support/redis-server.ts';
import { sharedRedis } from '../support/servers.ts';
import { answeredOfTurns } from '../support/turns.ts';
import {
  ALICE,
  type EngineFixture,
  fund,
  limit,
  membersAsked,
  openEngineFixture,
  place,
  publishPlain,
} from './fixture.ts';

const M = 'ETH/USD';
const N = 'SOL/USD';
const PAGE = 100;
const LIVE = 230;
const REFERENCE_BYTES = 17;
/** The longest client order id: 512 bytes. */
const LONG_ID = '\u{1f40b}'.repeat(124);

describe('engine: cancelling all orders of a wallet', () => {
  let fixture: EngineFixture;
  let connection: Redis;
  let engine: Engine;
  /** Scripts of the engine, as they answer. */
  const scripts: string[] = [];
  let onPage = (): void => undefined;

  beforeEach(async () => {
    scripts.length = 0;
    fixture = await openEngineFixture();
    connection = openRedis(await sharedRedis(), 'engine-all');
    const observe = (name: string): void => {
      scripts.push(name);
      if (name === 'find_live_orders') onPage();
    };
    engine = openEngine({ redis: connection, ...LIMITS, observe });
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    for (const market of [M, N]) await publishPlain(fixture.engine, market);
    await fund(fixture.engine, ALICE, { USD: 10n ** 6n });
    for (let first = 0; first < LIVE; first += 10) await rest(M, first, 10);
  });
  afterEach(() => {
    connection.disconnect();
    fixture.close();
  });

  const rest = (market: string, first: number, count: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, (_none, index) =>
        place(
          fixture.engine,
          ALICE,
          limit(market, 'buy', 1 + ((first + index) % 7), 1, {
            clientOrderId: `${LONG_ID}${market[0]}${first + index}`,
          }),
        ),
      ),
    );
  /** Returns the markets of the cancelled orders. */
  const cancelAll = (market: string | null): Promise<string[]> =>
    engine.orders.cancelAll(ALICE, market).then((closed) => closed.map((order) => order.market));

  /** Waits until the next page is read. */
  const begun = (): Promise<void> =>
    new Promise((resolve) => {
      onPage = resolve;
    });

  it('reads no orders of a market in which the wallet has none', async () => {
    await cancelAll(N);
    const before = connection.stream.bytesRead;
    expect(await membersAsked(fixture.redis, () => cancelAll(N))).to.equal(PAGE);
    expect(connection.stream.bytesRead - before).to.be.below(200);
  });

  it('reads references of orders, one page at a time', async () => {
    await rest(N, 0, 3);
    await cancelAll(N);
    await rest(N, 10, 3);
    const before = connection.stream.bytesRead;
    const asked = await membersAsked(fixture.redis, async () => {
      expect(await engine.orders.liveCount(ALICE)).to.equal(LIVE + 3);
    });
    expect(asked).to.equal(3 * PAGE);
    expect(connection.stream.bytesRead - before).to.be.below((LIVE + 3) * REFERENCE_BYTES + 500);
    expect(await cancelAll(N)).to.deep.equal([N, N, N]);
    expect(await cancelAll(null)).to.deep.equal(Array(LIVE).fill(M));
  });

  it('runs one call of a wallet at a time, and lets waiting calls for the same orders share the next', async () => {
    const first = cancelAll(M);
    await begun();
    const others = await Promise.all(Array.from({ length: 50 }, () => cancelAll(M)));
    expect(await first).to.have.length(LIVE);
    for (const other of others) expect(other).to.deep.equal([]);
    // The first call has three pages, and all others together have one.
    expect(scripts.filter((name) => name === 'find_live_orders')).to.have.length(4);
  });

  it('hands the orders of a shared call to some callers at a time, so that other requests have their go', async () => {
    const first = cancelAll(M);
    await begun();
    let answered = 0;
    const callers = Array.from({ length: 220 }, async () => {
      await cancelAll(M);
      answered += 1;
    });
    const ofTurns = await answeredOfTurns(callers.length, () => answered);
    await Promise.all([first, ...callers]);
    expect(Math.max(...ofTurns)).to.be.at.most(64);
  });

  it('cancels orders that were placed while an earlier call was under way', async () => {
    const earlier = cancelAll(M);
    await begun();
    await rest(M, LIVE, 5);
    const later = cancelAll(M);
    await Promise.all([earlier, later]);
    expect(await engine.orders.liveCount(ALICE)).to.equal(0);
  });

  it('keeps orders that were placed after the call began', async () => {
    const cancelling = cancelAll(M);
    await begun();
    await rest(M, LIVE, 5);
    expect(await cancelling).to.have.length(LIVE);
    expect(await engine.orders.liveCount(ALICE)).to.equal(5);
  });
});
