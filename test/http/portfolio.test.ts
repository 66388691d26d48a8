/** Tests portfolios, the list of markets, and the acceptance of terms. */

import { expect } from 'chai';
import request from 'supertest';
import { ethersSigner } from '../auth/signers.ts';
import { type Fixture, openFixture, type Trader, traderOf } from './fixture.ts';

describe('portfolio and markets', () => {
  let fixture: Fixture;

  before(async () => {
    fixture = await openFixture();
  });

  after(() => fixture.close());

  const portfolioOf = async (trader: Trader) => (await trader.get(`/v1/portfolio/${trader.wallet}`)).body;

  describe('GET /v1/portfolio/{address}', () => {
    it('is empty for a wallet that never had anything', async () => {
      const stranger = await fixture.trader();
      expect(await portfolioOf(stranger)).to.deep.equal({
        address: stranger.wallet,
        equity: 0,
        freeCollateral: 0,
        balances: [],
        positions: [],
      });
    });

    it('returns total and reserved of each asset, also of assets that are used up', async () => {
      const trader = await fixture.trader({ USDC: '10000.000001', ETH: '2.5', BTC: '1' });
      await trader.order({ price: 1000.01, size: 1.5 });
      await trader.order({ side: 'sell', price: 9000, size: 1 });
      await fixture.engine.funds.move({
        kind: 'debited',
        wallet: trader.wallet,
        asset: 'BTC',
        amountAtoms: 10n ** 8n,
        reference: 'all of it',
      });
      const portfolio = await portfolioOf(trader);
      expect(Object.keys(portfolio)).to.deep.equal([
        'address',
        'equity',
        'freeCollateral',
        'balances',
        'positions',
      ]);
      expect(portfolio.balances).to.deep.equal([
        { asset: 'BTC', total: 0, reserved: 0, available: 0, amount: 0 },
        { asset: 'ETH', total: 2.5, reserved: 1, available: 1.5, amount: 2.5 },
        {
          asset: 'USDC',
          total: 10000.000001,
          reserved: 1500.015,
          available: 8499.985001,
          amount: 10000.000001,
        },
      ]);
      expect(Object.keys(portfolio.balances[0])).to.deep.equal([
        'asset',
        'total',
        'reserved',
        'available',
        'amount',
      ]);
      await trader.delete('/v1/orders');
    });

    it('is readable by its owner only, with the address in any letter case', async () => {
      const trader = await fixture.trader({ USDC: '1' });
      for (const address of [trader.wallet, trader.signer.address, trader.wallet.toUpperCase()]) {
        const { status, body } = await trader.get(`/v1/portfolio/${address}`);
        expect([status, body.address]).to.deep.equal([200, trader.wallet]);
      }
      for (const address of [
        ethersSigner().address,
        'me',
        '0x',
        trader.wallet.slice(2),
        '%00',
        '..%2f',
        '*',
      ]) {
        const { status, body } = await trader.get(`/v1/portfolio/${address}`);
        expect(status, address).to.equal(403);
        expect(body).to.have.all.keys('error', 'code');
        expect(body.code).to.equal('FORBIDDEN');
      }
    });

    it('values balances in the quote asset of the first market, or in the one that is set', async () => {
      const [trader, maker] = [
        await fixture.trader({ USDC: '1000', ETH: '2', BTC: '1' }),
        await fixture.trader({ USDC: '100000', ETH: '100' }),
      ];
      // There is no price for ETH or BTC.
      expect(await portfolioOf(trader)).to.include({ equity: 1000, freeCollateral: 1000 });
      await fixture.engine.markets.change('ETH/USDC', { referencePrice: '1234.5' });
      expect((await portfolioOf(trader)).equity).to.equal(3469);
      await maker.order({ price: 1999.99, size: 1 });
      expect((await portfolioOf(trader)).equity).to.equal(1000 + 2 * 1999.99);
      await maker.order({ side: 'sell', price: 2000, size: 1 });
      expect((await portfolioOf(trader)).equity).to.equal(1000 + 2 * 1999.995);
      // The last execution is the price of a market without both sides.
      await trader.order({ price: 2000, size: 0.4 });
      await maker.delete('/v1/orders');
      await trader.order({ price: 100, size: 1 });
      expect(await portfolioOf(trader)).to.include({ equity: 4999.2, freeCollateral: 4899.2 });
    });

    it('values an asset without a market in the numeraire as nothing', async () => {
      const trader = await fixture.trader({ USDC: '1000', BTC: '0.5' });
      const { app } = await fixture.replica({ numeraire: 'BTC' });
      const inBtc = traderOf(app, trader.signer, trader.token);
      expect(await portfolioOf(inBtc)).to.include({ equity: 0.5, freeCollateral: 0.5 });
      const { app: unknown } = await fixture.replica({ numeraire: 'NONE' });
      const inNone = traderOf(unknown, trader.signer, trader.token);
      expect(await portfolioOf(inNone)).to.include({ equity: 0, freeCollateral: 0 });
    });
  });

  describe('GET /v1/markets', () => {
    it('returns every rule to anyone, and null for a rule that is not enforced', async () => {
      await fixture.market({
        symbol: 'DOGE/USDC',
        tickSize: '0.000001',
        sizeStep: '1',
        minOrderSize: null,
        maxOrderSize: null,
        feeBps: 25,
        status: 'pre_open',
        sellEnabled: false,
        networkId: '1',
      });
      await fixture.market({ symbol: 'FREE/USDC', sizeStep: null, minOrderSize: null, maxOrderSize: null });
      const { status, body } = await request(fixture.app)
        .get('/v1/markets')
        .set('Authorization', 'Bearer bad');
      expect(status).to.equal(200);
      expect(Object.keys(body)).to.deep.equal(['markets']);
      const found = (symbol: string) =>
        body.markets.find((market: { symbol: string }) => market.symbol === symbol);
      expect(body.markets.map(({ symbol }: { symbol: string }) => symbol).slice(0, 2)).to.deep.equal([
        'ETH/USDC',
        'BTC/USDC',
      ]);
      expect(Object.keys(found('ETH/USDC'))).to.deep.equal([
        'symbol',
        'type',
        'status',
        'tradingEnabled',
        'feeBps',
        'takerFeeBps',
        'makerFeeBps',
        'tickSize',
        'sizeStep',
        'priceIncrement',
        'sizeIncrement',
        'minOrderSize',
        'maxOrderSize',
        'minNotional',
        'sellEnabled',
        'baseToken',
        'quoteToken',
        'baseScale',
        'quoteScale',
        'networkId',
      ]);
      expect(found('DOGE/USDC')).to.deep.equal({
        symbol: 'DOGE/USDC',
        type: 'spot',
        status: 'pre_open',
        tradingEnabled: true,
        feeBps: 25,
        takerFeeBps: 25,
        makerFeeBps: 0,
        tickSize: 0.000001,
        sizeStep: 1,
        priceIncrement: 0.000001,
        sizeIncrement: 1,
        minOrderSize: null,
        maxOrderSize: null,
        minNotional: null,
        sellEnabled: false,
        baseToken: 'DOGE',
        quoteToken: 'USDC',
        baseScale: 8,
        quoteScale: 6,
        networkId: '1',
      });
      expect(found('FREE/USDC')).to.include({
        tickSize: 0.01,
        sizeStep: null,
        priceIncrement: 0.01,
        sizeIncrement: 0.0001,
      });
    });

    it('returns the increments that a refusal names', async () => {
      const trader = await fixture.trader({ USDC: '10000' });
      for (const [fields, code, error] of [
        [{ market: 'FREE/USDC', size: 0.00001 }, 'VALIDATION_ERROR', 'sizeIncrement, 0.0001'],
        [{ market: 'FREE/USDC', price: 1.001 }, 'PRICE_TICK', 'priceIncrement, 0.01'],
        [{ market: 'ETH/USDC', size: 1.0001 }, 'SIZE_STEP', 'sizeIncrement, 0.001'],
      ] as const) {
        const { body } = await trader.order(fields);
        expect([body.code, body.error]).to.deep.equal([
          code,
          `${error.slice(0, error.indexOf('I'))} must be a multiple of ${error}`,
        ]);
      }
    });

    it('shows a change by the operator at once on every replica', async () => {
      const { app } = await fixture.replica();
      await request(app).get('/v1/markets');
      await fixture.engine.markets.change('BTC/USDC', { status: 'halted', feeBps: 3 });
      for (const one of [app, fixture.app]) {
        const { markets } = (await request(one).get('/v1/markets')).body;
        const changed = markets.find(({ symbol }: { symbol: string }) => symbol === 'BTC/USDC');
        expect(changed).to.include({ status: 'halted', feeBps: 3, takerFeeBps: 3 });
      }
    });
  });

  describe('POST /v1/account/terms', () => {
    after(() => fixture.engine.switches.requireTerms(null));

    it('accepts the required version, and no other', async () => {
      const trader = await fixture.trader({ USDC: '10000' });
      const accept = (body: object) => trader.post('/v1/account/terms', body);
      const refused = [409, 'STALE_TERMS_VERSION'];
      const none = await accept({ version: 'v1' });
      expect([none.status, none.body.code]).to.deep.equal(refused);
      await fixture.engine.switches.requireTerms('v1');
      const stale = await trader.order();
      expect([stale.status, stale.body.code]).to.deep.equal(refused);
      expect((await trader.get('/v1/orders')).status).to.equal(200);
      expect((await trader.delete('/v1/orders')).status).to.equal(200);
      const wrong = await accept({ version: 'v0' });
      expect([wrong.status, wrong.body.code]).to.deep.equal(refused);
      for (const body of [{}, { version: 1 }, { version: '' }, { version: null }]) {
        expect((await accept(body)).body.code).to.equal('VALIDATION_ERROR');
      }
      expect((await accept({ version: 'v1' })).status).to.equal(200);
      expect((await accept({ version: 'v1' })).body).to.deep.equal({ version: 'v1', accepted: true });
      expect((await trader.order()).status).to.equal(200);
      await fixture.engine.switches.requireTerms('v2');
      expect((await trader.order()).body.code).to.equal('STALE_TERMS_VERSION');
    });
  });
});
