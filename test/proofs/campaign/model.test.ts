/** Proves that an unknown outcome does not count as acknowledged, and that a loss undoes the orders that followed it. */

import { expect } from 'chai';
import type { Entry, OrderBody } from './journal.ts';
import { Model } from './model.ts';

const ID = '00001ffffffffcf89b0004000000000100';

const order = (own: Partial<OrderBody> = {}): OrderBody => ({
  market: 'ETH/USDC',
  side: 'buy',
  type: 'limit',
  price: 1_000,
  size: 1,
  clientOrderId: 'c1',
  ...own,
});

const asked = (n: number, body: OrderBody): Entry => ({
  entry: 'intent',
  n,
  wallet: 0,
  does: 'place',
  order: body,
});
const shown = (n: number, status: string): Entry => ({
  entry: 'outcome',
  n,
  is: 'ok',
  shown: [{ id: ID, status }],
});

const modelOf = (...entries: readonly Entry[]): Model => {
  const model = new Model();
  for (const entry of entries) model.apply(entry);
  return model;
};

describe('the model of a campaign', () => {
  const told = (model: Model) => model.orders.get(model.keyOf(0, 'c1'))!;

  it('counts an order as refused for good once its deadline has passed', () => {
    const unknown: readonly Entry[] = [
      asked(1, order({ expiresAfter: 1 })),
      { entry: 'outcome', n: 1, is: 'unknown', why: 'socket hang up' },
      asked(2, order({ expiresAfter: 1 })),
    ];
    const refused = (code: string): Model =>
      modelOf(...unknown, { entry: 'outcome', n: 2, is: 'refused', code });
    expect([told(refused('BAD_REQUEST')).state, refused('BAD_REQUEST').unsure.size]).to.deep.equal([
      'refused',
      0,
    ]);
    expect(refused('INSUFFICIENT_BALANCE').unsure.size).to.equal(1);
  });

  it('counts an order as gone that is replaced, or that a replacement does not find', () => {
    const replaced = (outcome: Entry): Model =>
      modelOf(
        asked(1, order()),
        shown(1, 'resting'),
        {
          entry: 'intent',
          n: 2,
          wallet: 0,
          does: 'place',
          order: order({ clientOrderId: 'c2' }),
          replaces: { id: ID },
        },
        outcome,
      );
    const both = [
      { id: ID.replace('100', '200'), status: 'resting' },
      { id: ID, status: 'cancelled' },
    ];
    expect(told(replaced({ entry: 'outcome', n: 2, is: 'ok', shown: both })).ended).to.equal('cancelled');
    const missed = replaced({ entry: 'outcome', n: 2, is: 'refused', code: 'ORDER_NOT_FOUND' });
    expect(told(missed).goneBy).to.equal(2);
  });

  it('asks for an order again with the terms that followed a refusal', () => {
    const model = modelOf(
      asked(1, order({ size: 5_000_000 })),
      { entry: 'outcome', n: 1, is: 'refused', code: 'INSUFFICIENT_BALANCE' },
      asked(2, order()),
      { entry: 'outcome', n: 2, is: 'unknown', why: 'socket hang up' },
    );
    expect(told(model)).to.include({ state: 'asked', id: undefined });
    expect(told(model).order.size).to.equal(1);
    expect(model.unknowns).to.equal(1);
  });

  it('expects no live order that a cancel of all orders has met', () => {
    const model = modelOf(
      asked(1, order()),
      shown(1, 'resting'),
      { entry: 'intent', n: 2, wallet: 0, does: 'cancel all' },
      { entry: 'outcome', n: 2, is: 'ok', shown: [] },
    );
    expect(told(model).goneBy).to.equal(2);
  });

  it('counts an order of a lost event as unknown, and keeps one of an earlier event', () => {
    const placed = [asked(1, order()), shown(1, 'filled')];
    const kept = modelOf(...placed, { entry: 'lost', afterSequence: 0x100, sinceIntent: 0 });
    expect(told(kept)).to.include({ state: 'placed', id: ID });
    const lost = modelOf(...placed, { entry: 'lost', afterSequence: 0xff, sinceIntent: 0 });
    expect(told(lost)).to.include({ state: 'asked', id: undefined, ended: undefined });
  });

  it('reports an id that stands for two orders', () => {
    const model = modelOf(asked(1, order()), shown(1, 'resting'), asked(2, order()), {
      entry: 'outcome',
      n: 2,
      is: 'ok',
      shown: [{ id: `1${ID.slice(1)}`, status: 'resting' }],
    });
    expect(model.contradictions).to.have.length(1);
  });
});
