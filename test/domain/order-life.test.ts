/**
 * Tests the life of an order: random fills and closings against plain rules, and seeded streams against an independent
 * implementation.
 */

import { expect } from 'chai';
import type { EngineEvent } from '../../src/domain/event.ts';
import { END_REASONS, type EndReason, isLive, ORDER_STATUSES } from '../../src/domain/order.ts';
import {
  closeOrder,
  fillMaker,
  lifeOfPlaced,
  type OrderLife,
  type OrderVisitor,
  remainingSteps,
  visitOrders,
} from '../../src/domain/order-life.ts';
import { SwitchChanges } from '../../src/domain/switches.ts';
import { referenceLedger } from '../ledger/reference-ledger.ts';
import { random, runSeed } from '../support/seed.ts';
import { seededEvents } from '../support/seeded-events.ts';

const ENDED = ORDER_STATUSES.filter((status) => !isLive(status));
const REASONS = Object.keys(END_REASONS) as EndReason[];

/** The orders after the events, by id, and the number of visits that changed nothing. */
function livesAfter(events: readonly EngineEvent[]): { lives: Map<string, OrderLife>; refused: number } {
  const lives = new Map<string, OrderLife>();
  let refused = 0;
  const visitor: OrderVisitor = {
    placed: (event) => void lives.set(event.order.id, lifeOfPlaced(event)),
    filled(trade) {
      if (!fillMaker(lives.get(trade.makerOrderId)!, trade)) refused += 1;
    },
    closed(order, { timeMs }) {
      if (!closeOrder(lives.get(order.id)!, order, timeMs)) refused += 1;
    },
  };
  for (const event of events) visitOrders(event, visitor);
  return { lives, refused };
}

describe('the life of an order', () => {
  it('keeps the sum of filled and remaining sizes, counts fills, and never restarts', () => {
    const dice = random(runSeed());
    for (let round = 0; round < 400; round += 1) {
      const sizeSteps = BigInt(1 + dice.below(40));
      const live = { status: 'resting', reason: null } as const;
      const life: OrderLife = { sizeSteps, filledSteps: 0n, fillCount: 0, ...live, updatedAtMs: 0 };
      let sum = 0n;
      let fills = 0;
      let changedAtMs = 0;
      for (let timeMs = 1; timeMs <= 12; timeMs += 1) {
        const before = { ...life };
        const steps = BigInt(1 + dice.below(15));
        const end = { status: dice.pick(ENDED), reason: dice.pick(REASONS) };
        const isFill = dice.chance(0.85);
        const taken = isFill ? fillMaker(life, { sizeSteps: steps, timeMs }) : closeOrder(life, end, timeMs);
        if (!isLive(before.status) || (isFill && sum + steps > sizeSteps)) {
          expect([taken, life]).to.deep.equal([false, before]);
          continue;
        }
        expect(taken).to.equal(true);
        changedAtMs = timeMs;
        if (isFill) [sum, fills] = [sum + steps, fills + 1];
        const filled = sum === sizeSteps ? 'filled' : 'partially_filled';
        expect(life).to.deep.equal({
          sizeSteps,
          filledSteps: sum,
          fillCount: fills,
          ...(isFill ? { status: filled, reason: null } : end),
          updatedAtMs: changedAtMs,
        });
        expect(remainingSteps(life)).to.equal(isLive(life.status) ? sizeSteps - sum : 0n);
      }
    }
  });

  it('follows from a stream of events as a reference computes it', () => {
    const events = seededEvents(runSeed()).next(1_500);
    const { lives, refused } = livesAfter(events);
    const expected = referenceLedger(events).orders.map(
      ({ id, sizeSteps, filledSteps, fillCount, status, reason, updatedAtMs }) =>
        [id, { sizeSteps, filledSteps, fillCount, status, reason, updatedAtMs }] as const,
    );
    expect(refused).to.equal(0);
    expect([...lives]).to.deep.equal(expected);
  });

  it('is not changed by an event that is repeated after it ended', () => {
    const events = seededEvents(runSeed()).next(600);
    const closings = events.filter(({ kind }) => kind === 'orders_closed');
    const { lives, refused } = livesAfter([...events, ...closings]);
    expect([...lives]).to.deep.equal([...livesAfter(events).lives]);
    expect(refused).to.equal(closings.reduce((sum, event) => sum + ordersOf(event), 0));
  });

  it('reports the placement first, then fills in their order, then closings', () => {
    const heard: string[] = [];
    const visitor: OrderVisitor = {
      placed: ({ order }) => heard.push(`placed ${order.id}`),
      filled: ({ makerOrderId, tradeId }) => heard.push(`filled ${makerOrderId} ${tradeId}`),
      closed: ({ id }) => heard.push(`closed ${id}`),
    };
    for (const event of seededEvents(runSeed()).next(500)) {
      heard.length = 0;
      visitOrders(event, visitor);
      if (event.kind === 'order_placed') {
        expect(heard).to.deep.equal([
          `placed ${event.order.id}`,
          ...event.trades.map(({ makerOrderId, tradeId }) => `filled ${makerOrderId} ${tradeId}`),
          ...event.expired.map(({ id }) => `closed ${id}`),
        ]);
      } else expect(heard).to.have.length(ordersOf(event));
    }
  });
});

const ordersOf = (event: EngineEvent): number => (event.kind === 'orders_closed' ? event.orders.length : 0);

describe('switches that events changed', () => {
  const wallet = `0x${'a1'.repeat(20)}`;
  const changesAfter = (...bodies: readonly object[]): SwitchChanges => {
    const changes = new SwitchChanges();
    for (const [at, body] of bodies.entries()) changes.apply({ timeMs: 100 + at, ...body } as EngineEvent);
    return changes;
  };

  it('have their last value, and undefined when no event changed them', () => {
    expect(changesAfter()).to.include({ paused: undefined, termsVersion: undefined });
    expect(changesAfter({ kind: 'trading_paused' }, { kind: 'trading_resumed' }).paused).to.equal(false);
    expect(changesAfter({ kind: 'trading_resumed' }, { kind: 'trading_paused' }).paused).to.equal(true);
    const required = { kind: 'terms_required', version: '2' };
    expect(changesAfter(required).termsVersion).to.equal('2');
    expect(changesAfter(required, { kind: 'terms_required', version: null }).termsVersion).to.equal(null);
    const held = { kind: 'account_held', wallet };
    expect([...changesAfter({ kind: 'account_released', wallet }, held).holds]).to.deep.equal([
      [wallet, 101],
    ]);
    expect([...changesAfter(held, { kind: 'account_released', wallet }).holds]).to.deep.equal([
      [wallet, null],
    ]);
    const accepted = (version: string) => ({ kind: 'terms_accepted', wallet, version });
    expect([...changesAfter(accepted('1'), accepted('2')).acceptedTerms]).to.deep.equal([
      [wallet, { version: '2', timeMs: 101 }],
    ]);
  });
});
