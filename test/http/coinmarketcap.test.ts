/** Tests the listing form of CoinMarketCap against the market-data routes, and what operators set for it. */

import { expect } from 'chai';
import { setAsset } from '../../src/books/assets.ts';
import { eventually } from '../support/eventually.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const ACT = { by: 'Ada', reason: 'listing' };

describe('the listing form of CoinMarketCap', () => {
  let fixture: Fixture;
  let trader: Trader;
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are asserted
  const read = async (path: string): Promise<any> => {
    const { status, body, headers } = await trader.get(`/v1/coinmarketcap/${path}`);
    expect(status, path).to.equal(200);
    expect(headers['ratelimit-limit'], 'the limit of market data').to.equal('300');
    return body;
  };

  before(async () => {
    fixture = await openFixture();
    const seller = await fixture.trader({ ETH: '10' });
    trader = await fixture.trader({ USDC: '100000' });
    for (const [price, size] of [
      ['2000', '1'],
      ['2001', '2'],
    ])
      await seller.order({ side: 'sell', price, size });
    for (const size of ['0.4', '0.3']) await trader.order({ price: '2000', size, timeInForce: 'IOC' });
    await trader.order({ price: '1999.5', size: '0.5' });
    // The figures of a day are up to a second old.
    await eventually('told', async () => (await read('summary'))[0]?.base_volume === '0.7');
  });
  after(() => fixture.close());

  it('tells the same figures as the market-data routes', async () => {
    const [summary] = await read('summary');
    const { ETH_USDC } = (await trader.get('/v1/market-data/summary')).body;
    for (const name of Object.keys(summary)) expect(summary[name], name).to.equal(ETH_USDC[name]);
    expect(summary).to.include({ last_price: '2000', base_volume: '0.7', quote_volume: '1400' });
    expect((await read('ticker')).ETH_USDC).to.deep.equal({
      last_price: '2000',
      base_volume: '0.7',
      quote_volume: '1400',
      isFrozen: '0',
    });
    const book = await read('orderbook/ETH_USDC');
    const { bids, asks } = (await trader.get('/v1/market-data/orderbook/ETH_USDC')).body;
    expect([book.bids, book.asks]).to.deep.equal([bids, asks]);
    expect(Number(book.timestamp)).to.be.closeTo(Date.now(), 60_000);
    expect((await read('orderbook/ETH_USDC?level=1')).asks).to.deep.equal([asks[0]]);
    const trades = await read('trades/ETH_USDC');
    const { buy } = (await trader.get('/v1/market-data/trades/ETH_USDC')).body;
    expect(trades.map((trade: { trade_id: number }) => trade.trade_id)).to.deep.equal(
      buy.map((trade: { trade_id: number }) => trade.trade_id),
    );
    expect(trades[0]).to.include({ price: '2000', base_volume: '0.3', quote_volume: '600', type: 'buy' });
    expect(Math.floor(Number(trades[0].timestamp) / 1_000)).to.equal(Number(buy[0].trade_timestamp));
    const after = await read(`trades/ETH_USDC?after_id=${trades[1].trade_id}`);
    expect(after).to.deep.equal([trades[0]]);
  });

  it('refuses what the market-data routes refuse', async () => {
    for (const [path, status, code] of [
      ['orderbook/NONE_USDC', 404, 'NOT_FOUND'],
      ['trades/eth_usdc', 404, 'NOT_FOUND'],
      ['orderbook/ETH_USDC?depth=-1', 400, 'VALIDATION_ERROR'],
      ['orderbook/ETH_USDC?level=4', 400, 'VALIDATION_ERROR'],
      ['trades/ETH_USDC?start_time=2&end_time=1', 400, 'VALIDATION_ERROR'],
      ['trades/ETH_USDC?after_id=1&before_id=2', 400, 'VALIDATION_ERROR'],
    ] as const) {
      const { status: answered, body } = await trader.get(`/v1/coinmarketcap/${path}`);
      expect([answered, body.code], path).to.deep.equal([status, code]);
    }
    const { body } = await trader.get(`/v1/coinmarketcap/trades/ETH_USDC?start_time=${Date.now()}`);
    expect(body.error).to.include('seconds');
  });

  it('shows names, ids and flags of assets once an operator has set them, one by one', async () => {
    expect((await read('assets')).ETH).to.deep.equal({ name: 'ETH', maker_fee: '0', taker_fee: '0.001' });
    await setAsset(fixture, { symbol: 'ETH', name: 'Ether', ucid: '1027' }, ACT);
    await setAsset(fixture, { symbol: 'ETH', name: 'Ethereum', canDeposit: true, canWithdraw: false }, ACT);
    await setAsset(fixture, { symbol: 'ETH', minWithdraw: '0.010' }, ACT);
    await fixture.settle();
    expect((await read('assets')).ETH).to.deep.equal({
      name: 'Ethereum',
      unified_cryptoasset_id: '1027',
      can_deposit: 'true',
      can_withdraw: 'false',
      min_withdraw: '0.01',
      maker_fee: '0',
      taker_fee: '0.001',
    });
    expect((await read('ticker')).ETH_USDC)
      .to.include({ base_id: '1027' })
      .and.not.have.property('quote_id');
    for (const wrong of [{}, { ucid: 'x' }, { name: '' }, { minWithdraw: '-' }, { scale: 10 }]) {
      const refusal = await setAsset(fixture, { symbol: 'ETH', ...wrong }, ACT).catch((error) => error.code);
      expect(refusal).to.equal('INVALID_ASSET');
    }
  });
});
