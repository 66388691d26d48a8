/** Tests the reasons for which orders end where several apply, and those of events that recorded none. */

import { expect } from 'chai';
import type { EngineEvent } from '../../src/domain/event.ts';
import type { Market } from '../../src/domain/market.ts';
import { readEvent, type StreamEntry } from '../../src/engine/event-codec.ts';
import { KEYS } from '../../src/engine/keys.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import {
  ALICE,
  atMarket,
  BOB,
  CAROL,
  type EngineFixture,
  eventsOf,
  fund,
  limit,
  openEngineFixture,
  place,
  publishPlain,
  spend,
} from './fixture.ts';

const M = 'ETH/USD';

/** Byte of a placement's reason, and of a closing's cause, in its event. */
const REASON_AT = 8;
const CAUSE_AT = 7;

describe('engine: why an order ended', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture({ maxMakers: 2 });
    const { engine } = fixture;
    await publishPlain(engine, M);
    for (const wallet of [ALICE, BOB, CAROL]) await fund(engine, wallet, { ETH: 100n, USD: 10_000n });
  });
  afterEach(() => fixture.close());

  /** Places BOB's order on a book of asks of these wallets, one step each at 10, 11, 12. */
  const endOn = async (asks: readonly string[], order: OrderRequest): Promise<unknown[]> => {
    const { engine } = fixture;
    for (const [at, wallet] of asks.entries()) await place(engine, wallet, limit(M, 'sell', 10 + at, 1));
    const { order: placed } = await place(engine, BOB, order);
    const [event] = (await eventsOf(engine)).slice(-1);
    expect(event).to.include({ kind: 'order_placed', status: placed.status, reason: placed.reason });
    return [placed.status, placed.filledSteps, placed.reason];
  };
  const IOC = { timeInForce: 'IOC' } as const;
  const FOK = { timeInForce: 'FOK' } as const;
  const CUT = 'partially_filled_cancelled';

  const cases: readonly (readonly [string, readonly string[], OrderRequest, readonly unknown[]])[] = [
    ['the end of the book', [ALICE], limit(M, 'buy', 20, 3, IOC), [CUT, 1n, 'ioc_remainder']],
    ['an empty book', [], limit(M, 'buy', 20, 3, IOC), ['expired', 0n, 'ioc_remainder']],
    ['a market order', [ALICE], atMarket(M, 'buy', 3), [CUT, 1n, 'ioc_remainder']],
    ['the limit of makers', [ALICE, ALICE, ALICE], limit(M, 'buy', 20, 3), [CUT, 2n, 'max_makers']],
    [
      'the limit, before an own order',
      [ALICE, CAROL, BOB],
      limit(M, 'buy', 20, 3, IOC),
      [CUT, 2n, 'max_makers'],
    ],
    ['an own order', [BOB, ALICE], limit(M, 'buy', 20, 3, IOC), ['cancelled', 0n, 'self_trade_prevented']],
    [
      'an own order, at the limit',
      [ALICE, BOB, CAROL],
      limit(M, 'buy', 20, 3),
      [CUT, 1n, 'self_trade_prevented'],
    ],
    [
      'a FOK that meets an own order',
      [ALICE, BOB],
      limit(M, 'buy', 20, 3, FOK),
      ['rejected', 0n, 'FOK_NOT_FILLED'],
    ],
    [
      'the whole size, at the limit',
      [ALICE, CAROL, ALICE],
      limit(M, 'buy', 20, 2, IOC),
      ['filled', 2n, null],
    ],
    ['a budget that is used up', [ALICE, CAROL], spend(M, 15), ['filled', 1n, null]],
    ['a budget that meets an own order', [ALICE, BOB, CAROL], spend(M, 100), ['filled', 1n, null]],
    ['a budget, at the limit of makers', [ALICE, CAROL, ALICE], spend(M, 100), ['filled', 2n, null]],
    ['a rest that may rest', [ALICE], limit(M, 'buy', 20, 3), ['partially_filled', 1n, null]],
  ];
  for (const [title, asks, order, expected] of cases)
    it(`records the reason when ${title}`, async () => {
      expect(await endOn(asks, order)).to.deep.equal(expected);
    });

  it('reads null from events of releases that recorded no reason', async () => {
    const { engine, redis } = fixture;
    await endOn([ALICE], limit(M, 'buy', 20, 3, IOC));
    const { order } = await place(engine, ALICE, limit(M, 'sell', 30, 1));
    await engine.orders.cancel(ALICE, order.id);
    const [market] = await engine.markets.all();
    const entries = (await redis.xrangeBuffer(KEYS.events, '-', '+')).slice(-3) as unknown as StreamEntry[];
    const [dropped, , closed] = entries;
    expect(reasonOf(readEvent(dropped!, () => market as Market))).to.equal('ioc_remainder');
    expect(reasonOf(readEvent(closed!, () => market as Market))).to.equal('user_cancelled');
    dropped![1][1]![REASON_AT] = 0;
    closed![1][1]![CAUSE_AT] = 0;
    expect(reasonOf(readEvent(dropped!, () => market as Market))).to.equal(null);
    expect(reasonOf(readEvent(closed!, () => market as Market))).to.equal(null);
  });
});

function reasonOf(event: EngineEvent): string | null {
  if (event.kind === 'order_placed') return event.reason;
  if (event.kind === 'orders_closed') return event.orders[0]!.reason;
  throw new Error(`${event.kind} ends no order`);
}
