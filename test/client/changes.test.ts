/** Proves that a watch tells each change of an order once, over connections that are cut before and after the service acted. */

import { expect } from 'chai';
import { cancel, changes, type OrderChange, place, watchOrders } from '../../src/client/index.ts';
import { eventually } from '../support/eventually.ts';
import { random, runSeed } from '../support/seed.ts';
import { type ClientFixture, errorOf, openClientFixture } from './fixture.ts';

describe('a watch of orders', () => {
  const ORDERS = 12;
  let fixture: ClientFixture;

  before(async () => {
    fixture = await openClientFixture();
  });
  after(() => fixture.close());

  it('tells each change once over cut connections, and nothing once it is closed', async () => {
    const dice = random(runSeed());
    let isCutting = true;
    const cutting = fixture.connect({
      async fetch(url, init) {
        const cuts = isCutting && url.includes('/changes?after') && dice.chance(0.4);
        if (cuts && dice.chance(0.5)) throw new TypeError('cut before');
        const response = await fetch(url, init as RequestInit);
        if (cuts) throw new TypeError('cut after');
        return response;
      },
    });
    const [alice, bob] = [
      await fixture.wallet({ ETH: '100' }, cutting),
      await fixture.wallet({ USDC: '1000000' }),
    ];
    const told: OrderChange[] = [];
    const watch = await watchOrders(
      alice,
      { onChange: (change) => void told.push(change) },
      { waitSeconds: 1 },
    );
    const expected: string[] = [];
    for (let count = 0; count < ORDERS; count += 1) {
      const order = { market: 'ETH/USDC', type: 'limit', price: '2000' } as const;
      const made = await place(alice, { ...order, side: 'sell', size: '2' });
      const taken = await place(bob, { ...order, side: 'buy', size: '1' });
      if (made.outcome !== 'placed' || taken.outcome !== 'placed') throw new Error('not placed');
      await cancel(alice, made.order.id);
      expected.push(made.order.id, `${made.order.id} ${taken.order.fills[0]?.id}`, made.order.id);
    }
    await eventually('all are told', () => told.length >= expected.length);
    expect(told.map(({ order, fills }) => [order.id, ...fills.map(({ id }) => id)].join(' '))).to.deep.equal(
      expected,
    );
    expect(told.at(-1)).to.deep.include({ fills: [] });
    expect(told.at(-1)?.order).to.include({ status: 'partially_filled_cancelled', reason: 'user_cancelled' });
    await watch.close();
    await watch.ended;
    isCutting = false;
    const { changes: none, cursor } = await changes(alice, { after: watch.cursor! });
    expect([none, cursor]).to.deep.equal([[], watch.cursor]);
  });

  it('tells each change once where ten requests of the wallet wait already', async () => {
    const alice = await fixture.wallet({ USDC: '10000' });
    let refused = 0;
    const tellings: OrderChange[][] = Array.from({ length: 11 }, () => []);
    const watches = await Promise.all(
      tellings.map((told) =>
        watchOrders(alice, {
          onChange: (change) => void told.push(change),
          onFault: ({ status }) => {
            refused += Number(status === 503);
          },
        }),
      ),
    );
    await eventually('the eleventh is refused', () => refused > 0);
    await place(alice, { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '1000', size: '1' });
    await eventually('all tell it', () => tellings.every((told) => told.length > 0));
    for (const watch of watches) await watch.close();
    for (const told of tellings) expect(told).to.have.length(1);
  });

  it('ends with the refusal of a cursor, and with what a handler throws', async () => {
    const alice = await fixture.wallet({ USDC: '10000' });
    const bob = await fixture.wallet();
    const foreign = await watchOrders(
      alice,
      { onChange: () => undefined },
      { after: (await changes(bob)).cursor },
    );
    expect((await errorOf(foreign.ended)).code).to.equal('VALIDATION_ERROR');
    const failing = await watchOrders(alice, {
      onChange() {
        throw new Error('of the handler');
      },
    });
    await place(alice, { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '1000', size: '1' });
    expect(String(await failing.ended.catch(String))).to.equal('Error: of the handler');
  });
});
