/** Tests orders that replace another one: what is checked, what is written, and what stays when they are refused. */

import { expect } from 'chai';
import type { Side } from '../../src/domain/order.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import type { Placement } from '../../src/engine/index.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import {
  ALICE,
  atMarket,
  BOB,
  codeOf,
  dump,
  type EngineFixture,
  eventsOf,
  expectConserved,
  fund,
  held,
  limit,
  openEngineFixture,
  place,
  publishPlain,
  refusedWithoutWriting,
} from './fixture.ts';

const M = 'ETH/USD';

describe('an order that replaces another', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture({ maxLiveOrders: 2 });
    await publishPlain(fixture.engine, M);
    await publishPlain(fixture.engine, 'SOL/USD');
    await fund(fixture.engine, ALICE, { USD: 1_000n, ETH: 10n });
    await fund(fixture.engine, BOB, { USD: 1_000n, ETH: 10n });
  });
  afterEach(() => fixture.close());

  const replace = (replaces: string, request: OrderRequest, filled?: string): Promise<Placement> =>
    fixture.engine.orders.place({
      wallet: ALICE,
      request,
      replaces,
      filledSize: filled === undefined ? undefined : parseDecimal(filled),
    });
  const replaced = async (replaces: string, request: OrderRequest, filled?: string) => {
    const placement = await replace(replaces, request, filled);
    if (placement.outcome !== 'placed') throw new Error(placement.outcome);
    return placement;
  };
  const rest = async (side: Side, price: number, size: number, own: Partial<OrderRequest> = {}) =>
    (await place(fixture.engine, ALICE, limit(M, side, price, size, own))).order.id;

  it('takes its place as one change of two events, and pays with its funds', async () => {
    const old = await rest('buy', 100, 10, { clientOrderId: 'old' });
    const placement = await replaced(old, limit(M, 'buy', 90, 11, { clientOrderId: 'new' }));
    const item = { id: old, wallet: ALICE, market: M, clientOrderId: 'old' };
    const closed = { ...item, status: 'cancelled', reason: 'replaced' };
    expect(placement.replaced).to.deep.equal(closed);
    expect(placement.order.status).to.equal('resting');
    const [first, second] = (await eventsOf(fixture.engine)).slice(-2);
    expect(first).to.deep.include({ kind: 'orders_closed', orders: [closed] });
    expect(second?.kind === 'order_placed' && second.order.id).to.equal(placement.order.id);
    expect(second?.timeMs).to.equal(first?.timeMs);
    expect(await held(fixture.engine, ALICE, 'USD')).to.deep.equal([10n, 990n]);
    expect(await fixture.engine.reads.book(M, 10)).to.deep.include({
      bids: [{ priceTicks: 90n, sizeSteps: 11n }],
    });
    await expectConserved(fixture.engine, 'USD');
  });

  it('is refused without a trace when the wallet cannot pay, also with the funds of the old one', async () => {
    const old = await rest('buy', 100, 10);
    const refusal = (request: OrderRequest): Promise<string> =>
      refusedWithoutWriting(fixture.redis, () => replace(old, request));
    expect(await refusal(limit(M, 'buy', 91, 11))).to.equal('INSUFFICIENT_BALANCE');
    expect(await refusal(limit(M, 'sell', 200, 11))).to.equal('INSUFFICIENT_BALANCE');
    expect(await refusal(limit(M, 'buy', 90, 1, { expiresAfter: 1 }))).to.equal('BAD_REQUEST');
    expect(await held(fixture.engine, ALICE, 'USD')).to.deep.equal([0n, 1_000n]);
  });

  it('is refused when the old one is not a live order of the wallet in this market', async () => {
    const old = await rest('buy', 100, 1);
    const foreign = (await place(fixture.engine, BOB, limit(M, 'buy', 99, 1))).order.id;
    const ended = await rest('buy', 98, 1);
    await fixture.engine.orders.cancel(ALICE, ended);
    for (const id of [foreign, ended, '', 'nonsense', '00'.repeat(17), `ffff${old.slice(4)}`]) {
      const refused = () => replace(id, limit(M, 'buy', 90, 1, { clientOrderId: 'unused' }));
      expect(await refusedWithoutWriting(fixture.redis, refused), id).to.equal('ORDER_NOT_FOUND');
    }
    const elsewhere = () => replace(old, limit('SOL/USD', 'buy', 90, 1));
    expect(await refusedWithoutWriting(fixture.redis, elsewhere)).to.equal('ORDER_NOT_FOUND');
    expect(await fixture.engine.orders.find(ALICE, 'unused')).to.deep.equal({ outcome: 'unclaimed' });
  });

  it('leaves the old one when the engine rejects the new one, which is recorded', async () => {
    await place(fixture.engine, BOB, limit(M, 'sell', 110, 1));
    const old = await rest('buy', 100, 9);
    for (const own of [{ postOnly: true }, { timeInForce: 'FOK' as const }]) {
      const { order, replaced: closed } = await replaced(old, limit(M, 'buy', 110, 9, own));
      expect([order.status, closed]).to.deep.equal(['rejected', null]);
      expect((await eventsOf(fixture.engine)).at(-1)?.kind).to.equal('order_placed');
      expect(await held(fixture.engine, ALICE, 'USD')).to.deep.equal([100n, 900n]);
    }
    expect((await fixture.engine.orders.cancel(ALICE, old)).id).to.equal(old);
  });

  it('is not valued by the old one', async () => {
    const old = await rest('buy', 100, 1);
    expect(await codeOf(replace(old, atMarket(M, 'buy', 1)))).to.equal('NO_REFERENCE_PRICE');
    await place(fixture.engine, BOB, limit(M, 'buy', 50, 1));
    expect((await replaced(old, atMarket(M, 'buy', 1))).order.status).to.equal('expired');
  });

  it('does not meet the old one, which counts neither for post-only nor for self-trade nor as live', async () => {
    const ask = await rest('sell', 100, 10);
    await rest('buy', 10, 1);
    const bid = await replaced(ask, limit(M, 'buy', 100, 9, { postOnly: true }));
    expect(bid.order.status).to.equal('resting');
    const back = await replaced(bid.order.id, limit(M, 'sell', 50, 10));
    expect(back.order.status).to.equal('resting');
    expect(back.replaced?.reason).to.equal('replaced');
    expect(await codeOf(rest('buy', 11, 1))).to.equal('BAD_REQUEST');
  });

  it('shows that the old one had fills, and trades itself', async () => {
    const old = await rest('buy', 100, 5);
    await place(fixture.engine, BOB, limit(M, 'sell', 100, 2));
    await place(fixture.engine, BOB, limit(M, 'sell', 105, 3));
    const { order, trades, replaced: closed } = await replaced(old, limit(M, 'buy', 105, 5));
    expect([order.status, trades.length]).to.deep.equal(['partially_filled', 1]);
    expect(closed?.status).to.equal('partially_filled_cancelled');
    expect(await held(fixture.engine, ALICE, 'USD')).to.deep.equal([275n, 210n]);
    await expectConserved(fixture.engine, 'USD');
  });

  it('stays when it has filled another amount than its wallet believes, and nothing is written', async () => {
    const old = await rest('buy', 100, 5);
    await place(fixture.engine, BOB, limit(M, 'sell', 100, 2));
    const before = await dump(fixture.redis);
    const request = limit(M, 'buy', 99, 3, { clientOrderId: 'guarded' });
    for (const filled of ['0', '1', '3', '5', '2.5', '1e-30', '9007199254740992', '1e300'])
      expect(await codeOf(replace(old, request, filled)), filled).to.equal('CONFLICT');
    expect(await dump(fixture.redis)).to.deep.equal(before);
    const { order, replaced: closed } = await replaced(old, request, '2.0');
    expect([order.status, closed?.status]).to.deep.equal(['resting', 'partially_filled_cancelled']);
    expect(await replace(old, request, '1')).to.deep.equal({ outcome: 'claimed', orderId: order.id });
    expect(await codeOf(replace(old, limit(M, 'buy', 99, 3), '2'))).to.equal('ORDER_NOT_FOUND');
  });

  it('is guarded from its first step on, also when it took before it came to rest', async () => {
    await place(fixture.engine, BOB, limit(M, 'sell', 100, 2));
    const old = await rest('buy', 100, 5);
    expect(await codeOf(replace(old, limit(M, 'buy', 99, 3), '0'))).to.equal('CONFLICT');
    const { order } = await replaced(old, limit(M, 'buy', 99, 3), '2');
    expect((await replaced(order.id, limit(M, 'buy', 98, 3), '0')).order.status).to.equal('resting');
  });

  it('is replayed by its id, and replaces an order only once however many ask', async () => {
    const old = await rest('buy', 100, 5);
    const placements = await Promise.allSettled(
      Array.from({ length: 20 }, () => replace(old, limit(M, 'buy', 99, 5))),
    );
    const accepted = placements.filter(({ status }) => status === 'fulfilled');
    expect(accepted).to.have.length(1);
    const [live] = (await eventsOf(fixture.engine)).flatMap((event) =>
      event.kind === 'order_placed' && event.order.id !== old ? [event.order.id] : [],
    );
    const request = limit(M, 'buy', 98, 5, { clientOrderId: 'again' });
    const { order } = await replaced(live!, request);
    const before = await dump(fixture.redis);
    expect(await replace(live!, request)).to.deep.equal({ outcome: 'claimed', orderId: order.id });
    expect(await dump(fixture.redis)).to.deep.equal(before);
  });
});
