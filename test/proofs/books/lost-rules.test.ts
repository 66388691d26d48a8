/** Proves that running replicas do not use rules that were lost with the engine once the engine is rebuilt. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Response } from 'supertest';
import request from 'supertest';
import { rebuildEngine } from '../../../src/books/rebuild.ts';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { publishedMarket } from '../../../src/contract/published-market.ts';
import { writeJson } from '../../../src/domain/json.ts';
import type { Market } from '../../../src/domain/market.ts';
import { readMarketRecord } from '../../../src/domain/market-record.ts';
import type { MarketChange } from '../../../src/domain/market-rules.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import { type EngineGate, keepEngineOpen } from '../../../src/roles/engine-gate.ts';
import { type Fixture, openFixture, type Replica, type Trader, traderOf } from '../../http/fixture.ts';

/** For each market, by base asset: a change that is lost, and the first change after the rebuild. */
const CHANGES: Readonly<Record<string, readonly [lost: MarketChange, next: MarketChange]>> = {
  FEE: [{ feeBps: 55 }, { feeBps: 77 }],
  MIN: [{ minOrderSize: '5' }, { minOrderSize: '0.5' }],
  MAX: [{ maxOrderSize: '0.5' }, { maxOrderSize: '50' }],
  VALUE: [{ minNotional: '500000' }, { minNotional: '0.5' }],
  STATUS: [{ status: 'halted' }, { status: 'pre_open' }],
  TRADING: [{ tradingEnabled: false }, { visible: false }],
  SELLING: [{ sellEnabled: false }, { feeBps: 5 }],
  VISIBLE: [{ visible: false }, { feeBps: 6 }],
  SELF: [{ selfTrade: 'expire_maker' }, { selfTrade: 'expire_both' }],
  MARK: [{ referencePrice: '123' }, { referencePrice: '321' }],
};
const NAMES = Object.keys(CHANGES);
const symbolOf = (base: string): string => `${base}/USDC`;
const ENOUGH = '1000000';

/** Two replicas that reopen their engine automatically, and wallets at both. */
interface Exchange extends Fixture {
  readonly replicas: readonly Replica[];
  /** One trader for each replica. */
  readonly maker: readonly Trader[];
  readonly taker: readonly Trader[];
  end(): Promise<void>;
}

async function openExchange(): Promise<Exchange> {
  const fixture = await openFixture();
  const replicas = [fixture, await fixture.replica()];
  const gates: EngineGate[] = replicas.map(({ engineRedis, services }) =>
    keepEngineOpen({ redis: engineRedis, ...services, retryRefusedMs: 50 }),
  );
  for (const base of NAMES)
    await fixture.market({ symbol: symbolOf(base), minOrderSize: null, maxOrderSize: null });
  const funds = Object.fromEntries(['USDC', ...NAMES].map((asset) => [asset, ENOUGH]));
  const onEach = ({ signer, token }: Trader): Trader[] =>
    replicas.map(({ app }) => traderOf(app, signer, token));
  const maker = onEach(await fixture.trader(funds));
  const taker = onEach(await fixture.trader(funds));
  await fixture.settle();
  return {
    ...fixture,
    replicas,
    maker,
    taker,
    async end() {
      for (const gate of gates) gate.stop();
      await fixture.close();
    },
  };
}

const recordsIn = async ({ redis }: Fixture): Promise<Market[]> =>
  (await redis.hvals(KEYS.markets)).map(readMarketRecord).sort((a, b) => a.number - b.number);

/** The versions of all markets, by number. */
async function versionsIn(exchange: Fixture): Promise<string[]> {
  const records = await recordsIn(exchange);
  return records.map(({ number, version }) => `${number} ${version}`);
}

const json = (text: unknown): unknown => JSON.parse(String(text));

/** Checks that the replicas publish the markets in Redis. */
async function expectPublished(exchange: Exchange): Promise<void> {
  const markets = json(writeJson((await recordsIn(exchange)).map(publishedMarket)));
  for (const { app } of exchange.replicas) {
    const { body } = await request(app).get('/v1/markets');
    expect(body.markets).to.deep.equal(markets);
  }
}

/** Retries while a replica has not yet noticed or reopened the engine. */
async function answered(ask: () => Promise<Response>): Promise<Response> {
  for (let tries = 0; tries < 400; tries += 1) {
    const response = await ask();
    if (response.status !== 503) return response;
    await sleep(25);
  }
  throw new Error('a replica does not come back');
}

async function lose(exchange: Exchange, connections: 'broken' | 'kept'): Promise<void> {
  await exchange.redis.flushall();
  if (connections === 'broken') await exchange.redis.call('CLIENT', ['KILL', 'TYPE', 'normal']);
}

async function rebuild(exchange: Exchange): Promise<void> {
  const { engine, ledger } = exchange;
  while ((await engine.reads.time().catch(() => 0)) === 0) await sleep(5);
  await rebuildEngine({ engine, ledger });
  await engine.lifecycle.open(await ledger.settlement.cursor());
}

async function expectReconciled(exchange: Exchange): Promise<void> {
  await exchange.settle();
  const { checks } = await reconcile(exchange, { patienceMs: 1_000 });
  expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
}

const order = (base: string, fields: object): object => ({ market: symbolOf(base), price: 100, ...fields });

/** Places an order of each kind and compares its outcome with the market's expected rules. */
async function expectRules(exchange: Exchange, market: Market, at: number): Promise<void> {
  const maker = exchange.maker[at]!;
  const taker = exchange.taker[at]!;
  const base = market.base.symbol;
  const sell = await answered(() => maker.order(order(base, { side: 'sell' })));
  const code = refusalUnder(market);
  expect(sell.body.code ?? null, `a sell order on ${market.symbol}`).to.equal(code);
  if (code !== null) return;
  const own = await maker.order(order(base, { timeInForce: 'IOC' }));
  const ownEnds = market.selfTrade === 'expire_taker' || market.selfTrade === 'expire_both';
  expect(own.body.status, market.symbol).to.equal(
    market.status === 'pre_open' ? undefined : ownEnds ? 'cancelled' : 'expired',
  );
  if (market.status !== 'pre_open') {
    if (market.selfTrade !== 'expire_taker') await maker.order(order(base, { side: 'sell' }));
    const bought = await taker.order(order(base, {}));
    expect(bought.body.status, market.symbol).to.equal('filled');
    expect(bought.body.fills[0].feeAmount, `the fee on ${market.symbol}`).to.equal(
      (100 * market.feeBps) / 10_000,
    );
  }
  await maker.delete(`/v1/orders?market=${encodeURIComponent(market.symbol)}`);
}

function refusalUnder({
  status,
  tradingEnabled,
  sellEnabled,
  minOrderSize,
  maxOrderSize,
  minNotional,
}: Market): string | null {
  if (status === 'halted' || !tradingEnabled) return 'MARKET_NOT_TRADING';
  if (!sellEnabled) return 'SELL_DISABLED';
  if (Number(minOrderSize ?? 0) > 1 || Number(minNotional ?? 0) > 400_000) return 'ORDER_BELOW_MIN_SIZE';
  return Number(maxOrderSize ?? 1) < 1 ? 'ORDER_ABOVE_MAX_SIZE' : null;
}

async function expectRulesOfRedis(exchange: Exchange): Promise<void> {
  const markets = (await recordsIn(exchange)).filter(({ base }) => NAMES.includes(base.symbol));
  expect(markets).to.have.length(NAMES.length);
  for (const [index, market] of markets.entries()) await expectRules(exchange, market, index % 2);
  await expectPublished(exchange);
}

describe('books: market changes that were lost with the engine', () => {
  let exchange: Exchange;

  before(async () => {
    exchange = await openExchange();
  });
  after(() => exchange.end());

  for (const connections of ['broken', 'kept'] as const) {
    it(`do not apply to orders after a rebuild, with connections that were ${connections}`, async () => {
      const { engine } = exchange;
      for (const base of NAMES) await engine.markets.change(symbolOf(base), CHANGES[base]![0]);
      await engine.switches.requireTerms('lost');
      await engine.switches.hold(exchange.maker[0]!.wallet);
      await engine.switches.release(exchange.maker[0]!.wallet);
      await engine.switches.requireTerms(null);
      await expectRulesOfRedis(exchange);
      await engine.switches.requireTerms('lost');
      await engine.switches.hold(exchange.taker[0]!.wallet);
      await engine.switches.pause();
      const lostVersions = await versionsIn(exchange);

      await lose(exchange, connections);
      await rebuild(exchange);
      const rebuiltVersions = await versionsIn(exchange);
      const before = await recordsIn(exchange);
      for (const { base, feeBps } of before) if (base.symbol === 'FEE') expect(feeBps).to.not.equal(55);
      await expectRulesOfRedis(exchange);
      await expectReconciled(exchange);

      for (const base of NAMES) await engine.markets.change(symbolOf(base), CHANGES[base]![1]);
      await expectRulesOfRedis(exchange);
      const next = (await versionsIn(exchange)).filter((version) => !rebuiltVersions.includes(version));
      expect(next).to.have.length(NAMES.length);
      for (const version of next) expect(lostVersions).to.not.include(version);
      await expectReconciled(exchange);
    });

    it(`are not applied by the first change after a rebuild, with connections that were ${connections}`, async () => {
      const { engine } = exchange;
      await engine.markets.change('FEE/USDC', { feeBps: 55, status: 'active' });
      await expectPublished(exchange);
      for (const maker of exchange.maker)
        expect((await maker.order(order('FEE', { side: 'sell', price: 101 }))).status).to.equal(200);
      await lose(exchange, connections);
      await rebuild(exchange);
      await engine.markets.change('FEE/USDC', { feeBps: 88 });
      for (const [at, maker] of exchange.maker.entries()) {
        await answered(() => maker.order(order('FEE', { side: 'sell' })));
        const bought = await exchange.taker[at]!.order(order('FEE', {}));
        expect(bought.body.fills[0].feeAmount).to.equal(0.88);
      }
      await expectReconciled(exchange);
    });

    it(`leave no trace of a market after a rebuild, with connections that were ${connections}`, async () => {
      const { engine, maker, taker } = exchange;
      const GHOST = `GHOST${connections[0]!.toUpperCase()}`;
      const HEIR = `HEIR${connections[0]!.toUpperCase()}`;
      await exchange.market({ symbol: `${GHOST}/USDC`, minOrderSize: null });
      await exchange.market({ symbol: `${GHOST}/FEE`, minOrderSize: null });
      await exchange.credit(maker[0]!.wallet, { [GHOST]: '1000' });
      const rested: string[] = [];
      for (const trader of maker) {
        const { body } = await trader.order(order(GHOST, { side: 'sell' }));
        expect(body.status).to.equal('resting');
        rested.push(body.id);
      }
      await expectPublished(exchange);
      expect((await recordsIn(exchange)).at(-2)!.symbol).to.equal(`${GHOST}/USDC`);

      await lose(exchange, connections);
      await rebuild(exchange);
      await exchange.market({ symbol: `${HEIR}/USDC`, minOrderSize: null });
      await exchange.credit(maker[0]!.wallet, { [HEIR]: '1000' });
      // This replica has read the market that reuses the number; the other one has not.
      await request(exchange.replicas[0]!.app).get('/v1/markets');
      for (const [at, trader] of maker.entries()) {
        for (const side of ['buy', 'sell']) {
          const ghost = await answered(() => trader.order(order(GHOST, { side })));
          expect(ghost.body.code, `a ${side} order on the ghost`).to.equal('MARKET_NOT_FOUND');
        }
        expect((await trader.delete(`/v1/orders/${rested[at]}`)).body.code).to.equal('ORDER_NOT_FOUND');
        const ofGhost = await trader.delete(`/v1/orders?market=${GHOST}%2FUSDC`);
        expect(ofGhost.body.code).to.equal('MARKET_NOT_FOUND');
        const book = await request(exchange.replicas[at]!.app).get(
          `/v1/market-data/orderbook?ticker_id=${GHOST}_USDC`,
        );
        expect(book.status).to.equal(404);
        const { body: orders } = await trader.get('/v1/orders');
        expect(
          orders.orders.filter(
            ({ market }: { market: string }) =>
              market.startsWith(`${GHOST}/`) || market.startsWith(`${HEIR}/`),
          ),
        ).to.deep.equal([]);
      }
      await expectPublished(exchange);
      for (const [at, trader] of maker.entries()) {
        expect((await trader.order(order(HEIR, { side: 'sell' }))).body.status).to.equal('resting');
        const { body } = await taker[at]!.order(order(HEIR, {}));
        expect([body.status, body.market]).to.deep.equal(['filled', `${HEIR}/USDC`]);
        expect((await trader.order(order(HEIR, { price: 90 }))).body.status).to.equal('resting');
        expect((await trader.delete('/v1/orders')).body.count).to.equal(1);
      }
      await expectReconciled(exchange);
      // The same symbol with another grid and another number.
      await exchange.market({ symbol: `${GHOST}/USDC`, tickSize: '0.5', minOrderSize: null });
      const offGrid = await maker[1]!.order(order(GHOST, { price: 100.01 }));
      expect(offGrid.body.code).to.equal('PRICE_TICK');
      await expectPublished(exchange);
      expect((await engine.assets.all()).map(({ symbol }) => symbol)).to.include(GHOST);
      await expectReconciled(exchange);
    });

    it(`leave no scale of an asset after a rebuild, with connections that were ${connections}`, async () => {
      const { engine } = exchange;
      const asset = `SCALE${connections[0]!.toUpperCase()}`;
      await engine.assets.set({ symbol: asset, scale: 2 });
      for (const maker of exchange.maker)
        expect((await maker.get(`/v1/portfolio/${maker.wallet}`)).status).to.equal(200);
      await lose(exchange, connections);
      await rebuild(exchange);
      await engine.assets.set({ symbol: asset, scale: 6 });
      await exchange.credit(exchange.maker[0]!.wallet, { [asset]: '1.5' });
      for (const maker of exchange.maker) {
        const { body } = await answered(() => maker.get(`/v1/portfolio/${maker.wallet}`));
        const held = body.balances.find(({ asset: held }: { asset: string }) => held === asset);
        expect(held).to.include({ available: 1.5 });
      }
      await expectReconciled(exchange);
    });
  }
});
