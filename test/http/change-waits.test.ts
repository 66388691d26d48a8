/** Proves that requests that wait for changes follow the engine that answers now, whatever was in the one before. */

import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Cursor, EngineEvent } from '../../src/domain/event.ts';
import { ChangeWaits } from '../../src/http/change-waits.ts';
import { eventually } from '../support/eventually.ts';

const LONG_MS = 60_000;

const newCaller = () => Object.assign(new EventEmitter(), { destroyed: false });

const waitsOn = (engine: object): ChangeWaits => {
  const connect = () => ({ disconnect: () => undefined }) as unknown as Redis;
  return new ChangeWaits({ engine, connect } as unknown as ConstructorParameters<typeof ChangeWaits>[0]);
};

/** Makes an engine whose last event is 10, and that tells later ones once they are in `told`. */
const tellingEngine = (told: readonly EngineEvent[]) => ({
  lifecycle: { tenure: 1 },
  reads: { position: async () => ({ epoch: 4, sequence: 10, settled: 9 }) },
  outbox: {
    isTold: true,
    async awaitEvents(_connection: Redis, { sequence }: Cursor): Promise<EngineEvent[]> {
      await sleep(5);
      return told.filter((event) => event.sequence === sequence + 1);
    },
  },
});

const closedIn = (sequence: number, orders: readonly object[]): EngineEvent =>
  ({ epoch: 4, sequence, timeMs: 1, kind: 'orders_closed', orders }) as unknown as EngineEvent;

describe('requests that wait for changes', () => {
  it('are answered when another engine answers, whose events are awaited from its own end', async () => {
    const asked: Cursor[] = [];
    const engine = {
      lifecycle: { tenure: 1 },
      position: { epoch: 4, sequence: 1_000, settled: 900 },
      reads: { position: async () => engine.position },
      outbox: {
        async awaitEvents(_connection: Redis, after: Cursor): Promise<EngineEvent[]> {
          asked.push(after);
          await sleep(5);
          return [];
        },
      },
    };
    const waits = waitsOn(engine);
    const waiter = await waits.enter('0x1', newCaller());
    waiter.rest();
    const woken = waiter.next(LONG_MS);
    await eventually('the stream is followed', () => asked.length > 0);
    // A restore took events back, and the next epoch has the number of a lost one.
    engine.position = { epoch: 4, sequence: 100, settled: 90 };
    engine.lifecycle.tenure = 2;
    expect(await woken).to.equal(false);
    await eventually('the present end is followed', () => asked.at(-1)?.sequence === 100);
    waits.stop();
  });

  it('are told events that came while they waited, by the engine that gave them', async () => {
    const wallet = '0x1';
    const told: EngineEvent[] = [];
    const engine = tellingEngine(told);
    const waits = waitsOn(engine);
    const waiter = await waits.enter(wallet, newCaller());
    expect(waits.tailOf(wallet)).to.deep.include({ since: 10, events: [] });
    waiter.rest();
    told.push(closedIn(11, [{ id: 'a', wallet }]));
    expect(await waiter.next(LONG_MS)).to.equal(true);
    expect(waits.tailOf(wallet)).to.deep.include({ since: 10, events: told });
    expect(waits.tailOf(wallet)!.position.sequence).to.equal(11);
    expect(waits.tailOf('0x2')).to.equal(undefined);
    engine.outbox.isTold = false;
    expect(waits.tailOf(wallet), 'copies may lack it').to.equal(undefined);
    engine.outbox.isTold = true;
    engine.lifecycle.tenure = 2;
    expect(waits.tailOf(wallet), 'another engine').to.equal(undefined);
    waits.stop();
  });

  it('are woken some at a time by one event, so that other requests have their go', async () => {
    const wallets = Array.from({ length: 220 }, (_none, index) => `0x${index}`);
    const orders = wallets.map((wallet, index) => ({ id: `${index}`, wallet }));
    const told: EngineEvent[] = [];
    const waits = waitsOn(tellingEngine(told));
    /** Waits that were woken between two turns of the event loop. */
    const ofTurns: number[] = [];
    let woken = 0;
    const waiting = wallets.map(async (wallet) => {
      const waiter = await waits.enter(wallet, newCaller());
      waiter.rest();
      expect(await waiter.next(LONG_MS)).to.equal(true);
      woken += 1;
      waiter.leave();
    });
    await eventually('all wait', () => waits.count === wallets.length);
    told.push(closedIn(11, orders));
    let before = 0;
    while (woken < wallets.length) {
      await new Promise((resolve) => setImmediate(resolve));
      ofTurns.push(woken - before);
      before = woken;
    }
    await Promise.all(waiting);
    expect(Math.max(...ofTurns)).to.be.at.most(64);
    waits.stop();
  });
});
