/** Tests POST /v1/orders: each field of the reply, each status of an order, and the limits of each field. */

import { expect } from 'chai';
import { type LosslessNumber, parse } from 'lossless-json';
import type { Response } from 'supertest';
import { balancesKey } from '../../src/engine/keys.ts';
import { POISONED_TEXTS } from '../support/seeded-events.ts';
import { type Fixture, openFixture, type Trader, traderOf } from './fixture.ts';

const ORDER_FIELDS = [
  'id',
  'market',
  'side',
  'type',
  'timeInForce',
  'postOnly',
  'price',
  'size',
  'filledSize',
  'remainingSize',
  'status',
  'reason',
  'clientOrderId',
  'createdAt',
  'updatedAt',
  'fillCount',
  'fills',
];
const FILL_FIELDS = [
  'id',
  'orderId',
  'role',
  'price',
  'size',
  'notional',
  'feeAmount',
  'feeAsset',
  'createdAt',
];
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('POST /v1/orders', () => {
  let fixture: Fixture;
  let bidder: Trader;
  let seller: Trader;
  let symbol: string;
  let markets = 0;

  before(async () => {
    fixture = await openFixture();
  });

  /** Each test has its own book. */
  beforeEach(async () => {
    markets += 1;
    const base = `P${markets}`;
    ({ symbol } = await fixture.market({ symbol: `${base}/USDC` }));
    bidder = await fixture.trader({ USDC: '1000000', [base]: '100' });
    seller = await fixture.trader({ USDC: '1000000', [base]: '100' });
  });

  after(() => fixture.close());

  const buy = (fields: object = {}) => bidder.order({ market: symbol, ...fields });
  const sell = (fields: object = {}) => seller.order({ market: symbol, side: 'sell', ...fields });

  describe('the reply', () => {
    it('has the order field by field, at the top and once more as `order`', async () => {
      const { status, body } = await buy({ price: 2000.05, size: 1.5, clientOrderId: 'é 1', leverage: 3 });
      expect(status).to.equal(200);
      expect(Object.keys(body)).to.deep.equal([...ORDER_FIELDS, 'accepted', 'order']);
      const { accepted, order, ...own } = body;
      expect(own).to.deep.equal(order);
      expect(order.id).to.match(/^[0-9a-f]{34}$/);
      expect(order.createdAt).to.match(TIMESTAMP).and.equal(order.updatedAt);
      expect({ ...body, order: 0, id: 0, createdAt: 0, updatedAt: 0 }).to.deep.equal({
        id: 0,
        market: symbol,
        side: 'buy',
        type: 'limit',
        timeInForce: 'GTC',
        postOnly: false,
        price: 2000.05,
        size: 1.5,
        filledSize: 0,
        remainingSize: 1.5,
        status: 'resting',
        reason: null,
        clientOrderId: 'é 1',
        createdAt: 0,
        updatedAt: 0,
        accepted: true,
        order: 0,
        fillCount: 0,
        fills: [],
      });
    });

    it('has every fill, with the fee of the taker', async () => {
      const { body: first } = await sell({ price: 2000, size: 0.4 });
      await sell({ price: 2000.01, size: 2 });
      const { body } = await buy({ type: 'market', price: undefined, size: 1, clientOrderId: 'taker' });
      expect(body).to.include({
        type: 'market',
        price: null,
        status: 'filled',
        filledSize: 1,
        remainingSize: 0,
      });
      const { fills } = body;
      expect(fills.map(Object.keys)).to.deep.equal([FILL_FIELDS, FILL_FIELDS]);
      const shared = { orderId: body.id, role: 'taker', feeAsset: 'USDC', createdAt: body.createdAt };
      expect(fills.map(({ id, ...fill }: { id: string }) => fill)).to.deep.equal([
        { ...shared, price: 2000, size: 0.4, notional: 800, feeAmount: 0.8 },
        { ...shared, price: 2000.01, size: 0.6, notional: 1200.006, feeAmount: 1.200006 },
      ]);
      expect(Number(fills[1].id)).to.be.above(Number(fills[0].id));
      const { body: list } = await seller.get('/v1/orders');
      const maker = list.orders.find(({ id }: { id: string }) => id === first.id);
      expect(maker.fills).to.deep.equal([{ ...fills[0], orderId: first.id, role: 'maker', feeAmount: 0 }]);
      expect([body.fillCount, maker.fillCount]).to.deep.equal([2, 1]);
    });

    it('names the reason of an engine refusal, on the placing reply only', async () => {
      await sell();
      for (const [fields, reason] of [
        [{ postOnly: true, clientOrderId: 'post' }, 'POST_ONLY_WOULD_CROSS'],
        [{ timeInForce: 'FOK', size: 2, clientOrderId: 'fok' }, 'FOK_NOT_FILLED'],
      ] as const) {
        const { status, body } = await buy(fields);
        expect(status).to.equal(200);
        expect(Object.keys(body)).to.deep.equal([
          ...ORDER_FIELDS,
          'accepted',
          'order',
          'rejectCode',
          'rejectReason',
        ]);
        expect(body).to.include({
          accepted: false,
          status: 'rejected',
          reason,
          rejectCode: reason,
          rejectReason: reason,
        });
        expect(Object.keys(body.order)).to.deep.equal(ORDER_FIELDS);
        const { body: replayed } = await buy({ clientOrderId: fields.clientOrderId });
        expect(Object.keys(replayed)).to.deep.equal([...ORDER_FIELDS, 'accepted', 'order']);
        expect(replayed).to.include({ id: body.id, accepted: false, status: 'rejected' });
      }
    });

    it('writes amounts that no double can hold digit for digit', async () => {
      const rules = { tickSize: '0.000000001', sizeStep: '1', minOrderSize: null, maxOrderSize: null };
      const { engine } = fixture;
      await engine.assets.set({ symbol: 'WIDE', scale: 0 });
      await engine.assets.set({ symbol: 'FINE', scale: 9 });
      await fixture.market({ symbol: 'WIDE/FINE', ...rules });
      await fixture.credit(bidder.wallet, { FINE: '4000000000' });
      const { text } = await bidder.order({ market: 'WIDE/FINE', price: '1.000000001', size: '4000001' });
      const { price, size } = parse(text) as Record<string, LosslessNumber>;
      expect([price!.value, size!.value]).to.deep.equal(['1.000000001', '4000001']);
      const balance = (await bidder.get(`/v1/portfolio/${bidder.wallet}`)).text;
      expect(balance).to.include('"asset":"FINE","total":4000000000,"reserved":4000001.004000001,');
      expect(balance).to.include('"available":3995999998.995999999,"amount":4000000000}');
    });
  });

  describe('states', () => {
    const statusOf = async ({ body }: Response): Promise<string> =>
      (await bidder.get('/v1/orders')).body.orders.find(({ id }: { id: string }) => id === body.id).status;

    it('are resting, then partially filled, then filled', async () => {
      const order = await buy({ size: 1 });
      expect(order.body.status).to.equal('resting');
      await sell({ size: 0.4 });
      expect(await statusOf(order)).to.equal('partially_filled');
      await sell({ size: 0.6 });
      expect(await statusOf(order)).to.equal('filled');
    });

    it('are cancelled, without fills or with some', async () => {
      for (const [filled, status] of [
        [0, 'cancelled'],
        [0.4, 'partially_filled_cancelled'],
      ] as const) {
        const order = await buy({ size: 1 });
        if (filled > 0) await sell({ size: filled });
        expect((await bidder.delete(`/v1/orders/${order.body.id}`)).body.status).to.equal(status);
        expect(await statusOf(order)).to.equal(status);
      }
    });

    it('drop the remainder of IOC and market orders', async () => {
      expect((await buy({ timeInForce: 'IOC' })).body.status).to.equal('expired');
      await sell({ size: 0.4 });
      const partly = await buy({ timeInForce: 'IOC' });
      expect(partly.body).to.include({ status: 'partially_filled_cancelled', filledSize: 0.4 });
      const nothing = await buy({ type: 'market', price: undefined });
      expect(nothing.body).to.include({ status: 'expired', filledSize: 0, accepted: true });
      await sell({ size: 0.4 });
      const some = await buy({ type: 'market', price: undefined });
      expect(some.body).to.include({ status: 'partially_filled_cancelled', filledSize: 0.4 });
    });

    it('are cancelled when the order meets one of its own wallet', async () => {
      const resting = await buy({ size: 1 });
      const taker = await bidder.order({ market: symbol, side: 'sell' });
      expect(taker.body.status).to.equal('cancelled');
      await fixture.engine.markets.change(symbol, { selfTrade: 'expire_maker' });
      const next = await bidder.order({ market: symbol, side: 'sell' });
      expect(next.body.status).to.equal('resting');
      expect(await statusOf(resting)).to.equal('cancelled');
    });

    it('are rejected when the match cannot be settled: nothing moves, and the market halts', async () => {
      const { body: ask } = await sell();
      const base = symbol.split('/')[0]!;
      const reserved = Buffer.concat([Buffer.from(seller.wallet.slice(2), 'hex'), Buffer.from('r')]);
      await fixture.redis.hset(balancesKey(base), reserved, '0');
      const before = (await bidder.get(`/v1/portfolio/${bidder.wallet}`)).body.balances;
      const failed = await buy({ clientOrderId: 'unlucky' });
      expect([failed.status, failed.body]).to.deep.equal([
        400,
        {
          error:
            'the order matched but could not be settled; nothing moved and the order is recorded as rejected',
          code: 'SETTLEMENT_FAILED',
        },
      ]);
      expect((await bidder.get(`/v1/portfolio/${bidder.wallet}`)).body.balances).to.deep.equal(before);
      const alert = fixture.log.find((line) => line.includes('could not be settled'));
      expect(JSON.parse(alert!).level).to.equal(50);
      const [recorded] = (await bidder.get('/v1/orders')).body.orders;
      expect(recorded).to.include({ clientOrderId: 'unlucky', status: 'rejected', filledSize: 0 });
      const replayed = await buy({ clientOrderId: 'unlucky' });
      expect([replayed.status, replayed.body.accepted]).to.deep.equal([200, false]);
      expect(replayed.body).to.not.have.any.keys('rejectCode', 'rejectReason');
      expect((await buy()).body.code).to.equal('MARKET_NOT_TRADING');
      const [listed] = (await seller.get('/v1/orders')).body.orders;
      expect(listed).to.include({ id: ask.id, status: 'resting' });
    });

    it('wake settlement when an order is rejected so', async () => {
      await sell();
      const reserved = Buffer.concat([Buffer.from(seller.wallet.slice(2), 'hex'), Buffer.from('r')]);
      await fixture.redis.hset(balancesKey(symbol.split('/')[0]!), reserved, '0');
      let heard = 0;
      const wakeSettlement = () => {
        heard += 1;
      };
      const { app } = await fixture.replica({}, { wakeSettlement });
      const elsewhere = traderOf(app, bidder.signer, bidder.token);
      expect((await elsewhere.order({ market: symbol })).body.code).to.equal('SETTLEMENT_FAILED');
      expect(heard).to.equal(1);
      expect((await elsewhere.order({ market: symbol })).body.code).to.equal('MARKET_NOT_TRADING');
      expect(heard, 'for nothing').to.equal(1);
    });
  });

  describe('fields', () => {
    const codeOf = ({ status, body }: Response): string => (status === 200 ? body.status : body.code);
    const raw = (text: string) => bidder.post('/v1/orders', text);
    const withField = (name: string, literal: string, others: object = {}) => {
      const fields = { market: symbol, side: 'buy', type: 'limit', price: 2000, size: 1, ...others };
      const rest = Object.entries(fields).filter(([field, value]) => field !== name && value !== undefined);
      const members = rest.map(([field, value]) => `"${field}":${JSON.stringify(value)}`);
      return raw(`{${[...members, `"${name}":${literal}`].join(',')}}`);
    };
    const MARKET_BUY = { type: 'market', price: undefined, size: undefined };

    /** A literal for one field of an otherwise valid limit buy, and the expected outcome. */
    const CASES: readonly (readonly [field: string, literal: string, outcome: string, others?: object])[] = [
      ['size', '"1.5"', 'resting'],
      ['size', '1e2', 'resting'],
      ['size', '"1E+1"', 'resting'],
      ['size', '1.0000000000000000000000000', 'resting'],
      ['size', '0.1000000000000000000000000000000000000001', 'SIZE_STEP'],
      ['size', '"0.1000000000000000000000000000000000000001"', 'SIZE_STEP'],
      ['size', '1e-7', 'SIZE_STEP'],
      ['size', '"1e-7"', 'SIZE_STEP'],
      ['size', '1e-999999', 'SIZE_STEP'],
      ['size', '0', 'INVALID_ORDER'],
      ['size', '-0', 'INVALID_ORDER'],
      ['size', '-0.0e5', 'INVALID_ORDER'],
      ['size', '-1', 'INVALID_ORDER'],
      ['size', '"-1"', 'INVALID_ORDER'],
      ['size', '1e308', 'ORDER_ABOVE_MAX_SIZE'],
      ['size', '1e400', 'VALIDATION_ERROR'],
      ['size', '-1e400', 'VALIDATION_ERROR'],
      ['size', '1e99999999999', 'VALIDATION_ERROR'],
      ['size', '"1e400"', 'VALIDATION_ERROR'],
      ['size', `1${'0'.repeat(500)}`, 'VALIDATION_ERROR'],
      ['size', '"NaN"', 'VALIDATION_ERROR'],
      ['size', '"Infinity"', 'VALIDATION_ERROR'],
      ['size', '""', 'VALIDATION_ERROR'],
      ['size', '" 1"', 'VALIDATION_ERROR'],
      ['size', '"1,5"', 'VALIDATION_ERROR'],
      ['size', '"0x10"', 'VALIDATION_ERROR'],
      ['size', '"+1"', 'VALIDATION_ERROR'],
      ['size', '"١"', 'VALIDATION_ERROR'],
      ['size', '"1\\u0000"', 'VALIDATION_ERROR'],
      ['size', 'null', 'VALIDATION_ERROR'],
      ['size', 'true', 'VALIDATION_ERROR'],
      ['size', '[1]', 'VALIDATION_ERROR'],
      ['size', '{"text":"1"}', 'VALIDATION_ERROR'],
      ['price', '"2000.01"', 'resting'],
      ['price', '2e3', 'resting'],
      ['price', '0', 'VALIDATION_ERROR'],
      ['price', '-0', 'VALIDATION_ERROR'],
      ['price', '-1', 'VALIDATION_ERROR'],
      ['price', '1e400', 'VALIDATION_ERROR'],
      ['price', 'null', 'INVALID_ORDER'],
      ['price', '2000.001', 'PRICE_TICK'],
      ['price', '2000.0000000000000000000000000000000000001', 'PRICE_TICK'],
      ['price', '1e300', 'ORDER_ABOVE_MAX_SIZE'],
      ['price', '-1', 'VALIDATION_ERROR', { type: 'market' }],
      ['quoteAmount', '100', 'NO_LIQUIDITY', MARKET_BUY],
      ['quoteAmount', '"1e-30"', 'NO_LIQUIDITY', MARKET_BUY],
      ['quoteAmount', '1e308', 'NO_LIQUIDITY', MARKET_BUY],
      ['quoteAmount', '0', 'VALIDATION_ERROR', MARKET_BUY],
      ['quoteAmount', '-5', 'VALIDATION_ERROR', MARKET_BUY],
      ['quoteAmount', '5', 'VALIDATION_ERROR', { ...MARKET_BUY, size: 1 }],
      ['quoteAmount', '5', 'VALIDATION_ERROR', { ...MARKET_BUY, side: 'sell' }],
      ['quoteAmount', '5', 'VALIDATION_ERROR', { size: undefined }],
      ['type', '"market"', 'VALIDATION_ERROR', { price: undefined, size: undefined }],
      ['type', '"limit"', 'INVALID_ORDER', { price: undefined }],
      ['type', '"market"', 'NO_REFERENCE_PRICE', { price: 5 }],
      ['type', '"stop"', 'VALIDATION_ERROR'],
      ['type', '"LIMIT"', 'VALIDATION_ERROR'],
      ['side', '"hold"', 'VALIDATION_ERROR'],
      ['side', '1', 'VALIDATION_ERROR'],
      ['side', '"__proto__"', 'VALIDATION_ERROR'],
      ['market', '"eth/usdc"', 'MARKET_NOT_FOUND'],
      ['market', '"\\u0000"', 'MARKET_NOT_FOUND'],
      ['market', '"\\ud800"', 'MARKET_NOT_FOUND'],
      ['market', '"__proto__"', 'MARKET_NOT_FOUND'],
      ['market', '""', 'VALIDATION_ERROR'],
      ['market', '["ETH/USDC"]', 'VALIDATION_ERROR'],
      ['timeInForce', '"GTC"', 'resting'],
      ['timeInForce', '"IOC"', 'expired'],
      ['timeInForce', '"FOK"', 'rejected'],
      ['timeInForce', '"GTD"', 'VALIDATION_ERROR'],
      ['timeInForce', 'null', 'resting'],
      ['postOnly', 'true', 'resting'],
      ['postOnly', '"true"', 'VALIDATION_ERROR'],
      ['postOnly', '1', 'VALIDATION_ERROR'],
      ['postOnly', 'true', 'INVALID_ORDER', { timeInForce: 'IOC' }],
      ['postOnly', 'true', 'INVALID_ORDER', { type: 'market' }],
      ['reduceOnly', 'false', 'resting'],
      ['reduceOnly', 'true', 'REDUCE_ONLY'],
      ['reduceOnly', '0', 'VALIDATION_ERROR'],
      ['leverage', '1', 'resting'],
      ['leverage', '50', 'resting'],
      ['leverage', '5e1', 'resting'],
      ['leverage', '0', 'VALIDATION_ERROR'],
      ['leverage', '-1', 'VALIDATION_ERROR'],
      ['leverage', '51', 'VALIDATION_ERROR'],
      ['leverage', '100', 'VALIDATION_ERROR'],
      ['leverage', '2.5', 'VALIDATION_ERROR'],
      ['leverage', '99.9', 'VALIDATION_ERROR'],
      ['leverage', '100.5', 'INVALID_ORDER'],
      ['leverage', '101', 'INVALID_ORDER'],
      ['leverage', '1e300', 'INVALID_ORDER'],
      ['leverage', '1e400', 'VALIDATION_ERROR'],
      ['account', '"me"', 'VALIDATION_ERROR'],
      ['account', `"0x${'0'.repeat(40)}"`, 'FORBIDDEN'],
      ['clientOrderId', '""', 'VALIDATION_ERROR'],
      ['clientOrderId', 'null', 'resting'],
      ['clientOrderId', '5', 'VALIDATION_ERROR'],
      ['clientOrderId', JSON.stringify('a'.repeat(128)), 'resting'],
      ['clientOrderId', JSON.stringify('a'.repeat(129)), 'VALIDATION_ERROR'],
      ['clientOrderId', JSON.stringify('\u{1f40b}'.repeat(128)), 'resting'],
      ['clientOrderId', JSON.stringify('\u{1f40b}'.repeat(129)), 'VALIDATION_ERROR'],
      ['clientOrderId', '"a\\u0000"', 'VALIDATION_ERROR'],
      ['clientOrderId', '"\\ud83d"', 'VALIDATION_ERROR'],
      ['clientOrderId', '"\\udc0b\\ud83d"', 'VALIDATION_ERROR'],
      ['clientOrderId', '" "', 'resting'],
    ];
    for (const [field, literal, outcome, others] of CASES) {
      const shown = literal.length > 50 ? `${literal.slice(0, 50)}…` : literal;
      const beside = others === undefined ? '' : ` with ${JSON.stringify(others)}`;
      it(`${field}: ${shown}${beside} is ${outcome}`, async () => {
        const reply = await withField(field, literal, others);
        expect(codeOf(reply), reply.body.error).to.equal(outcome);
        if (reply.status !== 200) expect(Object.keys(reply.body)).to.deep.equal(['error', 'code']);
        if (outcome === 'VALIDATION_ERROR') expect(reply.body.error).to.match(/must|give|only|required/);
      });
    }

    it('accept the own wallet as account in any letter case', async () => {
      for (const account of [bidder.wallet, bidder.signer.address]) {
        expect((await buy({ account })).status).to.equal(200);
      }
    });

    it('keep and settle client order ids that are made to break stores', async () => {
      for (const clientOrderId of POISONED_TEXTS) {
        expect((await buy({ clientOrderId })).body.clientOrderId).to.equal(clientOrderId);
      }
      await fixture.settle();
      const { orders } = (await bidder.get('/v1/orders')).body;
      expect(
        orders.map((order: { clientOrderId: string }) => order.clientOrderId).toReversed(),
      ).to.deep.equal(POISONED_TEXTS);
      for (const clientOrderId of POISONED_TEXTS) {
        const { body } = await buy({ clientOrderId });
        expect(body.id).to.equal(
          orders.find((order: { clientOrderId: string }) => order.clientOrderId === clientOrderId).id,
        );
      }
    });
  });

  it('refuses an order after its deadline, leaves its id unused, and replays an order at any time', async () => {
    const late = await buy({ clientOrderId: 'dated', expiresAfter: Date.now() - 1_000 });
    expect(late.status).to.equal(400);
    expect(late.body.code).to.equal('BAD_REQUEST');
    expect(late.body.error).to.match(/^expiresAfter: /);
    expect((await bidder.get('/v1/orders/by-client-id/dated')).status).to.equal(404);
    const inTime = await buy({ clientOrderId: 'dated', expiresAfter: String(Date.now() + 60_000) });
    expect(inTime.body.status).to.equal('resting');
    for (const expiresAfter of [1, 'soon']) {
      const replayed = await buy({ clientOrderId: 'dated', expiresAfter });
      expect(replayed.body).to.deep.equal(inTime.body);
    }
  });

  it('spends a quote amount in whole steps, with the fee on top', async () => {
    await sell({ price: 2000, size: 1 });
    const { body } = await buy({
      type: 'market',
      price: undefined,
      size: undefined,
      quoteAmount: '1001.999',
    });
    expect(body).to.include({ size: 0.5, filledSize: 0.5, status: 'filled', price: null });
    expect(body.fills[0]).to.include({ notional: 1000, feeAmount: 1 });
  });
});
