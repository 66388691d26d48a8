/** Tests the client against the real application: every route, both ways of signing in, and exact amounts. */

import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  acceptTerms,
  cancel,
  cancelAfter,
  cancelAll,
  cancelMany,
  costOf,
  getHistoricalTrades,
  getMarkets,
  getOrder,
  getOrderBook,
  getOrderByClientId,
  getOrders,
  getPairs,
  getPortfolio,
  getSummary,
  getTickers,
  getTrades,
  type LimitOrder,
  orders,
  place,
  placeMany,
  RedbookError,
  renew,
  replace,
  restoreSession,
  type StatementPage,
  signIn,
  signInWithMessage,
  statement,
  statementCsv,
  subtract,
  trades,
} from '../../src/client/index.ts';
import { eventually } from '../support/eventually.ts';
import { type ClientFixture, errorOf, localSigner, openClientFixture } from './fixture.ts';

const BID: LimitOrder = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '2000.05', size: '0.25' };
const ASK: LimitOrder = { ...BID, side: 'sell' };

describe('the client', () => {
  let fixture: ClientFixture;
  before(async () => {
    fixture = await openClientFixture();
  });
  after(() => fixture.close());

  it('trades from order to fill and returns each amount as the service writes it', async () => {
    const [maker, taker] = await Promise.all([
      fixture.wallet({ ETH: '1' }),
      fixture.wallet({ USDC: '1000.000001' }),
    ]);
    const asked = await place(maker, { ...ASK, clientOrderId: 'maker/1 ü' });
    if (asked.outcome !== 'placed') throw asked.error;
    expect(asked.order).to.include({ price: '2000.05', size: '0.25', status: 'resting', fillCount: 0 });
    expect(await getOrder(maker, asked.order.id)).to.deep.equal(asked.order);
    expect(await getOrderByClientId(maker, 'maker/1 ü')).to.deep.equal(asked.order);

    const bought = await place(taker, { ...BID, size: '0.1' });
    if (bought.outcome !== 'placed') throw bought.error;
    expect(bought.clientOrderId).to.match(/^[0-9a-f]{32}$/);
    expect(bought.order).to.include({ status: 'filled', remainingSize: '0', fillCount: 1 });
    const [fill] = bought.order.fills;
    expect(fill).to.include({ notional: '200.005', feeAmount: '0.200005', role: 'taker' });
    const [market] = (await getMarkets(taker.connection)).filter(({ symbol }) => symbol === BID.market);
    expect(costOf(market!, { ...BID, size: '0.1' }).amount).to.equal(subtract('1000.000001', '799.794996'));
    const { trades } = await getTrades(taker, { market: 'ETH/USDC', limit: 1 });
    expect(trades[0]).to.include({ id: fill!.id, notional: '200.005', counterparty: maker.wallet });
    const { balances } = await getPortfolio(taker);
    expect(balances.find(({ asset }) => asset === 'USDC')?.available).to.equal('799.794996');
    const { orders, nextCursor } = await getOrders(maker, { status: 'live', limit: 1 });
    expect([orders.map(({ id }) => id), nextCursor]).to.deep.equal([[asked.order.id], null]);
    expect((await getOrders(maker, { status: 'closed' })).orders).to.deep.equal([]);
    expect((await cancel(maker, asked.order.id)).status).to.equal('partially_filled_cancelled');
  });

  it('places, replaces and cancels several orders, each with an outcome of its own', async () => {
    const maker = await fixture.wallet({ ETH: '2' });
    const ids = ['many 1', 'many 2', 'many 3'] as const;
    const outcomes = await placeMany(maker, [
      { ...ASK, clientOrderId: ids[0] },
      { ...ASK, size: '5', clientOrderId: ids[1] },
      { ...ASK, price: '2000.06', clientOrderId: ids[2] },
      { ...ASK, expiresAfter: 1 },
    ]);
    expect(outcomes.map((one) => ('error' in one ? one.error.code : one.outcome))).to.deep.equal([
      'placed',
      'INSUFFICIENT_BALANCE',
      'placed',
      'BAD_REQUEST',
    ]);
    expect(outcomes[0]!.outcome === 'placed' && outcomes[0]!.order.status).to.equal('resting');
    const old = { replacesClientOrderId: ids[0], filledSize: '0' };
    const stale = await replace(maker, { ...old, filledSize: '0.1' }, { ...ASK, price: '2000.07' });
    expect(stale.outcome === 'refused' && stale.error.code).to.equal('CONFLICT');
    const moved = await replace(maker, old, { ...ASK, price: '2000.07' });
    if (moved.outcome !== 'placed') throw moved.error;
    expect(moved.replaced).to.include({ clientOrderId: ids[0], reason: 'replaced' });
    const gone = await replace(maker, old, ASK);
    expect(gone.outcome === 'refused' && gone.error.code).to.equal('ORDER_NOT_FOUND');
    const cancelled = await cancelMany(maker, { orderIds: [moved.order.id], clientOrderIds: [...ids] });
    expect(cancelled.map((one) => one?.status ?? null)).to.deep.equal(['cancelled', null, null, 'cancelled']);
  });

  it('reports a used id of another order as a duplicate, and places nothing', async () => {
    const [maker, taker] = await Promise.all([
      fixture.wallet({ ETH: '2' }),
      fixture.wallet({ USDC: '9000' }),
    ]);
    const first = await place(maker, { ...ASK, clientOrderId: 'mm-1' });
    if (first.outcome !== 'placed') throw new Error(first.outcome);
    expect((await place(maker, { ...ASK, price: '2000.050', clientOrderId: 'mm-1' })).outcome).to.equal(
      'placed',
    );
    const other = await place(maker, { ...ASK, price: '2000.06', clientOrderId: 'mm-1' });
    if (other.outcome !== 'duplicate') throw new Error(other.outcome);
    expect([other.order, other.clientOrderId]).to.deep.equal([first.order, 'mm-1']);
    expect(other.error).to.include({ code: 'DUPLICATE_ORDER_ID', outcome: 'refused' });
    expect((await getOrders(maker)).orders).to.have.length(1);

    const market = { market: 'ETH/USDC', side: 'buy', type: 'market', clientOrderId: 'once' } as const;
    for (const [quoteAmount, outcome] of [
      ['250', 'placed'],
      ['250.00', 'placed'],
      ['200', 'duplicate'],
    ] as const)
      expect((await place(taker, { ...market, quoteAmount })).outcome, quoteAmount).to.equal(outcome);
    await cancelAll(maker);
  });

  it('reads the public market data', async () => {
    const [maker, taker] = await Promise.all([fixture.wallet({ BTC: '2' }), fixture.wallet({ USDC: '99' })]);
    await place(maker, { ...ASK, market: 'BTC/USDC', price: '70.01', size: '1.5' });
    const bought = await place(taker, { ...BID, market: 'BTC/USDC', price: '70.01', size: '1' });
    expect(bought).to.have.nested.property('order.status', 'filled');
    await fixture.settle();
    const connection = fixture.connect();
    const btc = (await getMarkets(connection)).find(({ symbol }) => symbol === 'BTC/USDC');
    expect(btc).to.include({
      tickSize: '0.01',
      sizeStep: '0.001',
      feeBps: 10,
      quoteScale: 6,
      minOrderSize: null,
    });
    expect((await getPairs(connection)).map(({ ticker_id }) => ticker_id)).to.include('BTC_USDC');
    // The figures are up to a second old.
    await eventually('the trade counts', async () => 'BTC_USDC' in (await getSummary(connection)));
    expect((await getSummary(connection)).BTC_USDC).to.include({ last_price: '70.01', base_volume: '1' });
    expect((await getTickers(connection)).map(({ ticker_id }) => ticker_id)).to.include('BTC_USDC');
    const book = await getOrderBook(connection, { tickerId: 'BTC_USDC', depth: 2 });
    expect(book.asks).to.deep.equal([['70.01', '0.5']]);
    const { buy, sell } = await getHistoricalTrades(connection, {
      tickerId: 'BTC_USDC',
      type: 'buy',
      limit: 9,
    });
    expect([buy.length, sell.length, buy[0]?.price]).to.deep.equal([1, 0, '70.01']);
    expect(buy[0]?.trade_id).to.be.a('number');
    const error = await errorOf(getOrderBook(connection, { tickerId: 'NO_SUCH' }));
    expect(error).to.include({ code: 'NOT_FOUND', status: 404, outcome: 'refused' });
  });

  it('cancels all, and sets the dead man’s switch', async () => {
    const session = await fixture.wallet({ USDC: '1000' });
    for (const size of ['0.1', '0.2']) await place(session, { ...BID, price: '10', size });
    expect((await cancelAfter(session, { timeoutMs: 60_000 })).cancelAt).to.match(/^\d{4}-.*Z$/);
    expect(await cancelAfter(session, { timeoutMs: 0 })).to.deep.equal({ cancelAt: null });
    expect(await cancelAll(session, { market: 'BTC/USDC' })).to.deep.equal({ cancelled: [], count: 0 });
    expect((await cancelAll(session)).count).to.equal(2);
    const again = await errorOf(cancelAll(session, { market: 'NO/SUCH' }));
    expect(again.code).to.equal('MARKET_NOT_FOUND');
  });

  it('reads all pages of orders and trades', async () => {
    const [maker, taker] = await Promise.all([
      fixture.wallet({ ETH: '5' }),
      fixture.wallet({ USDC: '5000' }),
    ]);
    const sizes = ['0.01', '0.02', '0.03', '0.04', '0.05'];
    for (const size of sizes) {
      await place(maker, { ...ASK, price: '100', size });
      await place(taker, { ...BID, price: '100', size, timeInForce: 'IOC' });
    }
    const read: string[] = [];
    for await (const { size } of orders(maker, { limit: 2, status: 'closed' })) read.push(size);
    expect(read).to.deep.equal(sizes.toReversed());
    for await (const { size } of trades(taker, { limit: 2, market: 'ETH/USDC' }, { timeoutMs: 9_000 })) {
      expect(size).to.equal(read.shift());
      if (read.length === 1) break;
    }
  });

  it('reads all pages of a statement, as values and as CSV', async () => {
    const [maker, taker] = await Promise.all([
      fixture.wallet({ ETH: '5' }),
      fixture.wallet({ USDC: '5000' }),
    ]);
    const asks = Array.from({ length: 50 }, () => ({ ...ASK, price: '100', size: '0.01' }));
    for (let round = 0; round < 6; round += 1) await placeMany(maker, asks);
    await place(taker, { ...BID, price: '100', size: '3', timeInForce: 'IOC' });
    await fixture.settle();
    const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
    const span = { from: day(-1), to: day(1) };
    const read: StatementPage[] = [];
    const texts: string[] = [];
    for await (const page of statement(maker, span, { timeoutMs: 9_000 })) read.push(page);
    for await (const text of statementCsv(maker, span)) texts.push(text);
    expect(read.map(({ opening, closing }) => [opening?.length, closing?.length])).to.deep.equal([
      [0, undefined],
      [undefined, 2],
    ]);
    const sold = read.flatMap(({ lines }) => lines).filter(({ asset }) => asset === 'ETH');
    expect(sold.map(({ amount }) => amount)).to.deep.equal(['5', ...Array(300).fill('-0.01')]);
    const rows = texts.join('').trim().split(/\r?\n/);
    expect(texts).to.have.length(2);
    expect(rows.filter((row) => row.startsWith('time,'))).to.have.length(1);
    expect(rows.filter((row) => row.includes(',trade,ETH,-0.01,'))).to.have.length(300);
  });

  it('accepts terms', async () => {
    const session = await fixture.wallet({ USDC: '1000' });
    await fixture.engine.switches.requireTerms('v 2');
    try {
      const refused = await place(session, { ...BID, price: '10' });
      expect(refused.outcome === 'refused' && refused.error).to.include({
        code: 'STALE_TERMS_VERSION',
        status: 409,
      });
      await acceptTerms(session, 'v 2');
      expect((await place(session, { ...BID, price: '10' })).outcome).to.equal('placed');
    } finally {
      await fixture.engine.switches.requireTerms(null);
    }
  });

  it('signs in by a message, restores a session from its token and renews one', async () => {
    const connection = fixture.connect();
    const signer = localSigner();
    const session = await signInWithMessage(connection, signer, { host: 'redbook.example' });
    expect(session.wallet).to.equal(signer.address.toLowerCase());
    // The client guesses the time of the service by the Date of a reply, which is a whole second.
    expect(session.expiresAt - Date.now()).to.be.within(8 * 3_600_000 - 60_000, 8 * 3_600_000 + 1_000);
    const restored = restoreSession(connection, session.token);
    expect((await getPortfolio(restored)).address).to.equal(session.wallet);
    expect(restored.wallet).to.equal(session.wallet);
    expect((await errorOf(renew(restored))).code).to.equal('NO_SIGNER');
    await renew(session);
    expect((await getPortfolio(session)).address).to.equal(session.wallet);
    const wrong = await errorOf(signInWithMessage(connection, signer, { host: 'phishing.example' }));
    expect(wrong).to.include({ code: 'domain_mismatch', status: 401, outcome: 'refused' });
  });

  it('keeps the token out of the JSON, the log and the copies of a session', async () => {
    const session = await fixture.wallet({});
    const texts = [
      JSON.stringify(session),
      inspect(session, { getters: true }),
      JSON.stringify({ ...session }),
    ];
    for (const text of texts) {
      expect(text).to.include(session.wallet);
      expect(text).to.not.include(session.token);
    }
  });

  it('ends a sign-in whose prompt stays open when its caller aborts it, and lets the next one begin', async () => {
    const connection = fixture.connect();
    const signer = localSigner();
    const prompted = new AbortController();
    const silent = { ...signer, signTypedData: () => new Promise<string>(() => prompted.abort()) };
    const waiting = new AbortController();
    const first = errorOf(signIn(connection, silent, { signal: prompted.signal }));
    const second = errorOf(signIn(connection, signer, { signal: waiting.signal }));
    waiting.abort();
    expect((await second).code).to.equal('ABORTED');
    expect((await first).code).to.equal('ABORTED');
    expect((await signIn(connection, signer)).wallet).to.equal(signer.address.toLowerCase());
  });

  it('reports refusals with their code, their status and the id of the request', async () => {
    const session = await fixture.wallet({ USDC: '10' });
    const refusals: [Partial<LimitOrder>, string][] = [
      [{}, 'INSUFFICIENT_BALANCE'],
      [{ price: '10.001' }, 'PRICE_TICK'],
      [{ market: 'NO/SUCH' }, 'MARKET_NOT_FOUND'],
      [{ clientOrderId: '' }, 'VALIDATION_ERROR'],
      [{ account: localSigner().address }, 'FORBIDDEN'],
    ];
    for (const [change, code] of refusals) {
      const placed = await place(session, { ...BID, ...change });
      if (placed.outcome !== 'refused') throw new Error(`${code} was ${placed.outcome}`);
      expect(placed.error).to.be.instanceOf(RedbookError).and.include({ code, outcome: 'refused' });
      expect(placed.error.requestId).to.match(/^[0-9a-f]{32}$/);
      expect(placed.order).to.equal(null);
    }
    const crossing = await fixture.wallet({ ETH: '1', USDC: '99' });
    const order: LimitOrder = { ...ASK, price: '3000', timeInForce: 'FOK', clientOrderId: 'once' };
    for (const way of ['answered', 'replayed']) {
      const rejected = await place(crossing, order);
      if (rejected.outcome !== 'refused') throw new Error(rejected.outcome);
      expect(rejected.error, way).to.include({ code: 'FOK_NOT_FILLED', status: 200 });
      expect(rejected.order?.status).to.equal('rejected');
    }
  });
});
