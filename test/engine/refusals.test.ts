/** Proves that a refused command writes nothing: the whole Redis is the same before and after. One row per refusal. */

import { expect } from 'chai';
import type { MarketChange } from '../../src/domain/market-rules.ts';
import type { Engine } from '../../src/engine/index.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import {
  ALICE,
  atMarket,
  BOB,
  CAROL,
  dump,
  type EngineFixture,
  fund,
  limit,
  movement,
  openEngineFixture,
  place,
  publishPlain,
  refusedWithoutWriting,
  spec,
  spend,
} from './fixture.ts';

const M = 'ETH/USD';
const UNKNOWN_ID = '00'.repeat(17);

type Placing = readonly [
  code: string,
  what: string,
  order: OrderRequest,
  before?: (engine: Engine) => Promise<unknown>,
];

const changed =
  (change: MarketChange) =>
  (engine: Engine): Promise<unknown> =>
    engine.markets.change(M, change);

/**
 * Placed by BOB, who has 1,000 USD, 20 ETH and an ask of 5 at 110. ALICE has an ask of 5 at 100 and a bid of 5 at 90.
 */
const PLACINGS: readonly Placing[] = [
  ['OPERATIONAL_PAUSED', 'trading is paused', limit(M, 'buy', 90, 1), (engine) => engine.switches.pause()],
  [
    'STALE_TERMS_VERSION',
    'terms not accepted',
    limit(M, 'buy', 90, 1),
    (engine) => engine.switches.requireTerms('v2'),
  ],
  ['CUSTODY_HOLD', 'on hold', limit(M, 'buy', 90, 1), (engine) => engine.switches.hold(BOB)],
  ['BAD_REQUEST', 'past its deadline', limit(M, 'buy', 90, 1, { expiresAfter: 1 })],
  ['MARKET_NOT_FOUND', 'no such market', limit('ETH/EUR', 'buy', 90, 1)],
  ['INVALID_ORDER', 'size 0', limit(M, 'buy', 90, 0)],
  ['INVALID_ORDER', 'post-only IOC', limit(M, 'buy', 90, 1, { postOnly: true, timeInForce: 'IOC' })],
  ['INVALID_ORDER', 'leverage 101', limit(M, 'buy', 90, 1, { leverage: 101 })],
  ['MARKET_NOT_TRADING', 'halted', limit(M, 'buy', 90, 1), changed({ status: 'halted' })],
  ['MARKET_NOT_TRADING', 'not enabled', limit(M, 'buy', 90, 1), changed({ tradingEnabled: false })],
  ['MARKET_PRE_OPEN', 'market order before opening', atMarket(M, 'buy', 1), changed({ status: 'pre_open' })],
  ['MARKET_PRE_OPEN', 'crossing before opening', limit(M, 'buy', 100, 1), changed({ status: 'pre_open' })],
  ['SELL_DISABLED', 'buy-only', limit(M, 'sell', 100, 1), changed({ sellEnabled: false })],
  ['REDUCE_ONLY', 'reduce-only', limit(M, 'sell', 100, 1, { reduceOnly: true })],
  ['PRICE_TICK', 'off the tick', limit(M, 'buy', '90.5', 1)],
  ['PRICE_TICK', 'off by far less than a double can tell', limit(M, 'buy', `90.${'0'.repeat(40)}1`, 1)],
  ['SIZE_STEP', 'off the step', limit(M, 'buy', 90, '1.000000000000000000001')],
  ['ORDER_BELOW_MIN_SIZE', 'too small', limit(M, 'buy', 90, 1), changed({ minOrderSize: '2' })],
  ['ORDER_BELOW_MIN_SIZE', 'worth too little', limit(M, 'buy', 90, 1), changed({ minNotional: '90.01' })],
  ['ORDER_BELOW_MIN_SIZE', 'a quote amount below the value', spend(M, 199), changed({ minNotional: '200' })],
  ['ORDER_ABOVE_MAX_SIZE', 'too large', limit(M, 'buy', 90, 3), changed({ maxOrderSize: '2' })],
  ['ORDER_ABOVE_MAX_SIZE', 'too large to be exact', limit(M, 'buy', 90, 10n ** 15n)],
  ['NO_REFERENCE_PRICE', 'nothing to value it by', atMarket('SOL/USD', 'buy', 1)],
  ['NO_LIQUIDITY', 'no asks', spend('SOL/USD', 100)],
  ['NO_LIQUIDITY', 'own asks only', spend(M, 500), (engine) => engine.orders.cancelAll(ALICE, M)],
  ['QUOTE_AMOUNT_TOO_SMALL', 'less than a step', spend(M, '99.999999999999999999999')],
  ['ORDER_BELOW_MIN_SIZE', 'a quote amount for too little', spend(M, 199), changed({ minOrderSize: '2' })],
  ['ORDER_ABOVE_MAX_SIZE', 'a quote amount for too much', spend(M, 300), changed({ maxOrderSize: '2' })],
  ['INSUFFICIENT_BALANCE', 'a bid', limit(M, 'buy', 99, 11)],
  ['INSUFFICIENT_BALANCE', 'an ask', limit(M, 'sell', 99, 16)],
  ['INSUFFICIENT_BALANCE', 'the fee of a fill', limit(M, 'buy', 100, 5), (engine) => drain(engine, 500n)],
  ['INSUFFICIENT_BALANCE', 'the fee of a quote amount', spend(M, 500), (engine) => drain(engine, 500n)],
  ['INSUFFICIENT_BALANCE', 'post-only that would cross', limit(M, 'buy', 110, 10, { postOnly: true })],
  [
    'INSUFFICIENT_BALANCE',
    'FOK that cannot fill, with its fee',
    limit(M, 'buy', 100, 10, { timeInForce: 'FOK' }),
  ],
  [
    'BAD_REQUEST',
    'too many live orders',
    limit(M, 'buy', 90, 1),
    (engine) => place(engine, BOB, limit(M, 'buy', 1, 1)),
  ],
];

/** Leaves BOB with `atoms` of USD. */
async function drain(engine: Engine, atoms: bigint): Promise<void> {
  await engine.funds.move(movement('debited', BOB, 'USD', 1_000n - atoms));
}

type Command = readonly [code: string, what: string, run: (engine: Engine) => Promise<unknown>];

const OTHERS: readonly Command[] = [
  ['ORDER_NOT_FOUND', 'cancel an unknown order', (engine) => engine.orders.cancel(BOB, UNKNOWN_ID)],
  ['ORDER_NOT_FOUND', 'cancel what is no id', (engine) => engine.orders.cancel(BOB, "'; drop table orders")],
  ['ORDER_NOT_FOUND', 'void an unknown order', (engine) => engine.orders.void(UNKNOWN_ID)],
  ['INSUFFICIENT_BALANCE', 'debit', (engine) => engine.funds.move(movement('debited', BOB, 'USD', 1_001n))],
  [
    'INSUFFICIENT_BALANCE',
    'debit what is reserved',
    (engine) => engine.funds.move(movement('debited', BOB, 'ETH', 16n)),
  ],
  ['CUSTODY_HOLD', 'debit of CAROL', (engine) => engine.funds.move(movement('debited', CAROL, 'USD', 1n))],
  ['SUPPLY_LIMIT', 'credit', (engine) => engine.funds.move(movement('credited', BOB, 'USD', 2n ** 62n))],
  ['UNKNOWN_ASSET', 'credit', (engine) => engine.funds.move(movement('credited', BOB, 'XYZ', 1n))],
  ['INVALID_REFERENCE', 'credit', (engine) => engine.funds.move(movement('credited', BOB, 'USD', 1n, ''))],
  ['STALE_TERMS_VERSION', 'accept', (engine) => engine.switches.acceptTerms(BOB, 'v1')],
  ['MARKET_NOT_FOUND', 'change', (engine) => engine.markets.change('ETH/EUR', { feeBps: 1 })],
  ['INVALID_MARKET', 'change the fee', (engine) => engine.markets.change(M, { feeBps: 1001 })],
  [
    'INVALID_MARKET',
    'change the sizes',
    (engine) => engine.markets.change(M, { minOrderSize: '3', maxOrderSize: '2' }),
  ],
  ['BOOK_NOT_EMPTY', 'delist', (engine) => engine.markets.change(M, { status: 'delisted' })],
  ['MARKET_EXISTS', 'publish', (engine) => engine.markets.create(spec(M))],
  ['INVALID_MARKET', 'publish', (engine) => engine.markets.create(spec('eth/usd'))],
  ['ASSET_IN_USE', 'set a scale', (engine) => engine.assets.set({ symbol: 'ETH', scale: 3 })],
  ['INVALID_ASSET', 'set a scale', (engine) => engine.assets.set({ symbol: 'XYZ', scale: 10 })],
];

describe('engine: refused commands write nothing', () => {
  let fixture: EngineFixture;

  beforeEach(async () => {
    fixture = await openEngineFixture({ maxLiveOrders: 2 });
    const { engine } = fixture;
    await publishPlain(engine, M, { feeBps: 10 });
    await publishPlain(engine, 'SOL/USD');
    await fund(engine, ALICE, { USD: 1_000n, ETH: 20n });
    await fund(engine, BOB, { USD: 1_000n, ETH: 20n });
    await fund(engine, CAROL, { USD: 1_000n });
    await engine.switches.hold(CAROL);
    await place(engine, ALICE, limit(M, 'sell', 100, 5));
    await place(engine, ALICE, limit(M, 'buy', 90, 5));
    await place(engine, BOB, limit(M, 'sell', 110, 5));
  });
  afterEach(() => fixture.close());

  for (const [code, what, order, before] of PLACINGS) {
    it(`rejects with ${code}: ${what}`, async () => {
      const { engine, redis } = fixture;
      await before?.(engine);
      for (const clientOrderId of [null, 'an id']) {
        const request = { ...order, clientOrderId };
        expect(
          await refusedWithoutWriting(redis, () => engine.orders.place({ wallet: BOB, request })),
        ).to.equal(code);
      }
      // The id was not used up.
      expect(await engine.orders.find(BOB, 'an id')).to.deep.equal({ outcome: 'unclaimed' });
    });
  }

  it('rejects with RESTRICTED_JURISDICTION: a blocked country', async () => {
    const { engine, redis } = fixture;
    const request = limit(M, 'buy', 90, 1);
    const placing = (): Promise<unknown> => engine.orders.place({ wallet: BOB, request, restricted: true });
    expect(await refusedWithoutWriting(redis, placing)).to.equal('RESTRICTED_JURISDICTION');
  });

  for (const [code, what, run] of OTHERS) {
    it(`rejects with ${code}: ${what}`, async () => {
      const { engine, redis } = fixture;
      expect(await refusedWithoutWriting(redis, () => run(engine))).to.equal(code);
    });
  }

  it('rejects with ORDER_NOT_FOUND: an order of another wallet, and a closed one', async () => {
    const { engine, redis } = fixture;
    const { order } = await place(engine, BOB, limit(M, 'buy', 80, 1));
    expect(await refusedWithoutWriting(redis, () => engine.orders.cancel(ALICE, order.id))).to.equal(
      'ORDER_NOT_FOUND',
    );
    await engine.orders.cancel(BOB, order.id);
    expect(await refusedWithoutWriting(redis, () => engine.orders.cancel(BOB, order.id))).to.equal(
      'ORDER_NOT_FOUND',
    );
  });

  it('writes nothing for replays, repeated movements and switches that are set again', async () => {
    const { engine, redis } = fixture;
    const request = limit(M, 'buy', 80, 1, { clientOrderId: 'once' });
    const { order } = await place(engine, BOB, request);
    const credit = movement('credited', BOB, 'USD', 5n);
    await engine.funds.move(credit);
    await engine.switches.pause();
    const before = await dump(redis);
    expect(await engine.orders.place({ wallet: BOB, request })).to.deep.equal({
      outcome: 'claimed',
      orderId: order.id,
    });
    expect(
      await engine.orders.place({ wallet: BOB, request: { ...request, expiresAfter: 1 } }),
    ).to.deep.equal({ outcome: 'claimed', orderId: order.id });
    expect(await engine.funds.move(credit)).to.deep.equal({ outcome: 'claimed', movement: credit });
    await engine.switches.pause();
    await engine.switches.hold(CAROL);
    await engine.switches.release(BOB);
    await engine.switches.requireTerms(null);
    await engine.assets.set({ symbol: 'ETH', scale: 0 });
    expect(await engine.orders.cancelAll(CAROL, null)).to.deep.equal([]);
    expect(await dump(redis)).to.deep.equal(before);
  });
});
