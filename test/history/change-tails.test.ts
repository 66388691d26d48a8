/** Proves that changes told from the last events of a wallet are those of all its events, and read no more than they need. */

import { expect } from 'chai';
import type { EngineEvent } from '../../src/domain/event.ts';
import { placedIn } from '../../src/domain/order.ts';
import { KIND } from '../../src/domain/order-life.ts';
import { type ChangePlace, changesInTail, presentPlace } from '../../src/history/order-changes.ts';
import { foldOrders } from '../../src/history/order-fold.ts';
import { NOTHING_SETTLED, type Stores } from '../../src/history/order-history.ts';
import { runSeed } from '../support/seed.ts';
import { seededEvents, WALLETS } from '../support/seeded-events.ts';

const SERVER = 'a run';
const EVENTS = 400;
const MAX = 100;
const SETTINGS = { settings: { maxFillsPerOrder: 1_000, maxFillsPerReply: 10_000 } };

describe('changes told from the last events of a wallet', () => {
  let events: EngineEvent[];
  let digest: ChangePlace;

  before(async () => {
    events = seededEvents(runSeed()).next(EVENTS);
    const position = { server: SERVER, epoch: events[0]!.epoch, sequence: 0, settled: 0 };
    const stores = { engine: { reads: { position: async () => position } } } as unknown as Stores;
    digest = await presentPlace(stores);
  });

  const placeAfter = (sequence: number): ChangePlace => ({ ...digest, sequence, kind: KIND.after, key: 0 });
  const tailOf = (own: readonly EngineEvent[], since: number) => ({
    position: { server: SERVER, epoch: digest.epoch, sequence: EVENTS },
    since,
    events: own,
  });
  const ownOf = (wallet: string): EngineEvent[] =>
    events.filter((event) => JSON.stringify(event, bigintsAsText).includes(wallet));

  it('show each order as all events leave it, and are left to the stores where an order is older', () => {
    let told = 0;
    let left = 0;
    for (const wallet of WALLETS) {
      const own = ownOf(wallet);
      const orders = new Map(
        foldOrders(NOTHING_SETTLED, own, wallet).map((one) => [one.order.id, one.order]),
      );
      for (let since = 0; since < EVENTS; since += 23) {
        const kept = own.filter(({ sequence }) => sequence > since);
        const all = changesInTail(SETTINGS, wallet, placeAfter(since), MAX, tailOf(own, 0))!;
        const some = changesInTail(SETTINGS, wallet, placeAfter(since), MAX, tailOf(kept, since));
        const isWhole = all.changes.every(({ orderId }) => placedIn(orderId) > since);
        if (isWhole) expect(some).to.deep.equal(all);
        else if (some === undefined) left += 1;
        else expect.fail('told changes of an order that was placed before the events');
        for (const { order, orderId } of all.changes) expect(order.order).to.deep.equal(orders.get(orderId));
        told += all.changes.length;
      }
    }
    expect(told).to.be.above(300);
    expect(left).to.be.above(10);
  });

  it('read no event before the placement of the orders that they tell', () => {
    const wallet = WALLETS[0]!;
    const own = ownOf(wallet);
    const last = own.findLast((event) => event.kind === 'order_placed' && event.order.wallet === wallet)!;
    const read: number[] = [];
    const watched = own.map(
      (event) =>
        new Proxy(event, {
          get(target, name) {
            if (name !== 'sequence') read.push(target.sequence);
            return Reflect.get(target, name);
          },
        }),
    );
    const later = own.filter(({ sequence }) => sequence <= last.sequence).length;
    const tail = tailOf(watched.slice(0, later), 0);
    const place = placeAfter(last.sequence - 1);
    const part = changesInTail(SETTINGS, wallet, place, MAX, tail)!;
    const oldest = Math.min(...part.changes.map(({ orderId }) => placedIn(orderId)));
    expect(part.changes).to.not.be.empty;
    // The event of the place may have changes behind it.
    expect(Math.min(...read)).to.be.at.least(Math.min(oldest, place.sequence));
    expect(own[0]!.sequence).to.be.below(oldest);
  });
});

const bigintsAsText = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}` : value;
