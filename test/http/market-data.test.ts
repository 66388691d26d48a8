/** Tests the public routes from outside: each record and each rule. */

import type { RequestListener } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import pg from 'pg';
import request, { type Response } from 'supertest';
import { ANSWER_WITHIN_MS } from '../../src/domain/time-limit.ts';
import { stateOf } from '../../src/http/response/index.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const PLAIN_DECIMAL = /^(0|[1-9]\d*)(\.\d*[1-9])?$/;

describe('public market data', () => {
  let fixture: Fixture;
  let maker: Trader;
  let taker: Trader;

  const get = async (path: string): Promise<Response> => request(fixture.app).get(`/v1/market-data/${path}`);
  const quote = (fields: object) => maker.order(fields);

  /** Waits for the engine clock's next second, whose figures include earlier executions. */
  const nextSecond = () => new Promise((resolve) => setTimeout(resolve, 1_005 - (Date.now() % 1_000)));

  before(async () => {
    fixture = await openFixture({ webUrl: 'https://front.example/app' });
    await fixture.market({ symbol: 'AAA/USDC', tickSize: '0.05', sizeStep: '0.003', minOrderSize: null });
    await fixture.market({ symbol: 'BBB/USDC', visible: false, minOrderSize: null });
    await fixture.market({ symbol: 'CCC/USDC', status: 'pre_open', minOrderSize: null });
    const funds = { USDC: '100000000', ETH: '100000', BTC: '1000', AAA: '1000', BBB: '1000' };
    maker = await fixture.trader(funds);
    taker = await fixture.trader(funds);
    await quote({ side: 'sell', price: 2000.01, size: 3 });
    await quote({ side: 'sell', price: 2000.5, size: 2.5 });
    await taker.order({ side: 'buy', price: 2000.5, size: 4.25 });
    await quote({ side: 'buy', price: 1999.99, size: 1.5 });
    await taker.order({ side: 'sell', price: 1999, size: 0.75 });
    await quote({ market: 'AAA/USDC', side: 'sell', price: 0.15, size: 0.003 });
    await taker.order({ market: 'AAA/USDC', side: 'buy', price: 0.15, size: 0.003 });
    await quote({ market: 'BBB/USDC', side: 'sell', price: 1, size: 1 });
    await taker.order({ market: 'BBB/USDC', side: 'buy', price: 1, size: 1 });
    await nextSecond();
  });

  after(() => fixture.close());

  describe('pairs', () => {
    it('has exactly the fields of the contract', async () => {
      const { status, body } = await get('pairs');
      expect(status).to.equal(200);
      expect(body[0]).to.deep.equal({
        ticker_id: 'ETH_USDC',
        base_currency: 'ETH',
        target_currency: 'USDC',
        pool_id: 'redbook:eth-usdc',
        type: 'spot',
        status: 'active',
        trade_url: 'https://front.example/app/trade/ETH_USDC',
      });
    });

    it('lists active, visible, trading-enabled markets only, as they are now', async () => {
      const listed = async () =>
        (await get('pairs')).body.map((pair: { ticker_id: string }) => pair.ticker_id);
      expect(await listed()).to.deep.equal(['ETH_USDC', 'BTC_USDC', 'AAA_USDC']);
      for (const [away, back] of [
        [{ status: 'halted' }, { status: 'active' }],
        [{ tradingEnabled: false }, { tradingEnabled: true }],
        [{ visible: false }, { visible: true }],
      ] as const) {
        await fixture.engine.markets.change('BTC/USDC', away);
        expect(await listed(), JSON.stringify(away)).to.deep.equal(['ETH_USDC', 'AAA_USDC']);
        await fixture.engine.markets.change('BTC/USDC', back);
        expect(await listed()).to.deep.equal(['ETH_USDC', 'BTC_USDC', 'AAA_USDC']);
      }
    });
  });

  describe('summary', () => {
    it('has exactly the fields of the contract and of the aggregators', async () => {
      const { status, body } = await get('summary');
      expect(status).to.equal(200);
      expect(body.ETH_USDC).to.deep.equal({
        ticker_id: 'ETH_USDC',
        trading_pairs: 'ETH_USDC',
        base_currency: 'ETH',
        quote_currency: 'USDC',
        last_price: '1999.99',
        lowest_ask: '2000.5',
        highest_bid: '1999.99',
        base_volume: '5',
        quote_volume: '10000.6475', // 3 x 2000.01 + 1.25 x 2000.5 + 0.75 x 1999.99
        price_change_percent_24h: '0',
        highest_price_24h: '2000.5',
        lowest_price_24h: '1999.99',
        type: 'spot',
        is_frozen: false,
        isFrozen: '0',
        trade_url: 'https://front.example/app/trade/ETH_USDC',
      });
    });

    it('lists visible markets with executions in the last 24 hours', async () => {
      expect(Object.keys((await get('summary')).body)).to.deep.equal(['ETH_USDC', 'AAA_USDC']);
    });

    it('returns prices as exact decimals, and null for an empty side', async () => {
      const { AAA_USDC } = (await get('summary')).body;
      expect(AAA_USDC).to.include({ last_price: '0.15', base_volume: '0.003', quote_volume: '0.00045' });
      expect(AAA_USDC).to.include({ lowest_ask: null, highest_bid: null });
    });

    it('shows at once that trading is frozen, by a pause or by the market', async () => {
      const frozen = async (): Promise<unknown[]> => {
        const { is_frozen, isFrozen } = (await get('summary')).body.ETH_USDC;
        return [is_frozen, isFrozen];
      };
      await fixture.engine.switches.pause();
      expect(await frozen()).to.deep.equal([true, '1']);
      await fixture.engine.switches.resume();
      expect(await frozen()).to.deep.equal([false, '0']);
      for (const [away, back] of [
        [{ status: 'halted' }, { status: 'active' }],
        [{ tradingEnabled: false }, { tradingEnabled: true }],
      ] as const) {
        await fixture.engine.markets.change('ETH/USDC', away);
        expect(await frozen(), JSON.stringify(away)).to.deep.equal([true, '1']);
        await fixture.engine.markets.change('ETH/USDC', back);
        expect(await frozen()).to.deep.equal([false, '0']);
      }
    });

    it('counts each execution once, settled or not', async () => {
      const { body: unsettled } = await get('summary');
      await fixture.settle();
      await nextSecond();
      expect((await get('summary')).body).to.deep.equal(unsettled);
    });
  });

  describe('tickers', () => {
    it('has exactly the fields of the contract', async () => {
      const { status, body } = await get('tickers');
      expect(status).to.equal(200);
      expect(body[0]).to.deep.equal({
        ticker_id: 'ETH_USDC',
        base_currency: 'ETH',
        target_currency: 'USDC',
        last_price: '1999.99',
        base_volume: '5',
        target_volume: '10000.6475',
        pool_id: 'redbook:eth-usdc',
        bid: '1999.99',
        ask: '2000.5',
        high: '2000.5',
        low: '1999.99',
      });
    });

    it('lists pairs that have ever traded', async () => {
      const listed = async () =>
        (await get('tickers')).body.map((ticker: { ticker_id: string }) => ticker.ticker_id);
      expect(await listed()).to.deep.equal(['ETH_USDC', 'AAA_USDC']);
      await fixture.engine.markets.change('AAA/USDC', { status: 'halted' });
      expect(await listed()).to.deep.equal(['ETH_USDC']);
      await fixture.engine.markets.change('AAA/USDC', { status: 'active' });
    });
  });

  describe('orderbook', () => {
    it('has exactly the fields of the contract, in both forms', async () => {
      for (const path of ['orderbook?ticker_id=ETH_USDC', 'orderbook/ETH_USDC']) {
        const { status, body } = await get(path);
        expect(status).to.equal(200);
        expect(Object.keys(body)).to.deep.equal(['ticker_id', 'timestamp', 'bids', 'asks']);
        expect(body).to.deep.include({
          ticker_id: 'ETH_USDC',
          bids: [['1999.99', '0.75']],
          asks: [['2000.5', '1.25']],
        });
        expect(body.timestamp).to.match(/^\d{13}$/);
        expect(Math.abs(Number(body.timestamp) - Date.now())).to.be.below(5_000);
      }
    });

    it('is empty for a market without orders', async () => {
      expect((await get('orderbook/CCC_USDC')).body).to.deep.include({ bids: [], asks: [] });
    });

    it('includes each acknowledged order, and no cancelled one', async () => {
      const bids = async () => (await get('orderbook/BTC_USDC')).body.bids;
      for (let price = 10_000; price < 10_010; price += 1) {
        const { body } = await quote({ market: 'BTC/USDC', price, size: 0.5 });
        expect(await bids()).to.deep.equal([[String(price), '0.5']]);
        await maker.delete(`/v1/orders/${body.id}`);
        expect(await bids()).to.deep.equal([]);
      }
    });

    it('sums the orders of a price, best price first', async () => {
      const market = 'BTC/USDC';
      for (const size of [0.1, 0.02, 0.003]) await quote({ market, price: 20_000, size });
      for (const price of [19_999, 20_000.01]) await quote({ market, price, size: 1 });
      for (const price of [21_000, 20_500]) await quote({ market, side: 'sell', price, size: 2 });
      expect((await get('orderbook/BTC_USDC')).body).to.deep.include({
        bids: [
          ['20000.01', '1'],
          ['20000', '0.123'],
          ['19999', '1'],
        ],
        asks: [
          ['20500', '2'],
          ['21000', '2'],
        ],
      });
    });

    describe('depth', () => {
      before(async () => {
        const market = 'BTC/USDC';
        for (let level = 0; level < 260; level += 20) {
          await Promise.all(
            Array.from({ length: 20 }, async (_, index) => {
              await quote({ market, price: 15_000 - level - index, size: 0.001 });
              await quote({ market, side: 'sell', price: 25_000 + level + index, size: 0.001 });
            }),
          );
        }
      });

      const rows: [depth: string, eachSide: number][] = [
        ['', 50],
        ['&depth=100', 50],
        ['&depth=1', 1],
        ['&depth=2', 1],
        ['&depth=3', 1],
        ['&depth=4', 2],
        ['&depth=20', 10],
        ['&depth=101', 50],
        ['&depth=102', 51],
        ['&depth=499', 249],
        ['&depth=500', 250],
        ['&depth=501', 250],
        ['&depth=0', 250],
        ['&depth=00', 250],
        ['&depth=99999999999999999999', 250],
      ];
      for (const [depth, eachSide] of rows) {
        it(`of ${depth || 'no value'} returns ${eachSide} levels a side`, async () => {
          const { body } = await get(`orderbook?ticker_id=BTC_USDC${depth}`);
          expect([body.bids.length, body.asks.length]).to.deep.equal([eachSide, eachSide]);
          const prices = (side: [string, string][]) => side.map(([price]) => Number(price));
          expect(prices(body.bids)).to.deep.equal(prices(body.bids).sort((a, b) => b - a));
          expect(prices(body.asks)).to.deep.equal(prices(body.asks).sort((a, b) => a - b));
          expect(body.bids[0][0]).to.equal('20000.01');
          expect(body.asks[0][0]).to.equal('20500');
        });
      }
    });

    const refusals = [
      'depth=-1',
      'depth=-0',
      'depth=1.5',
      'depth=1e2',
      'depth=x',
      'depth=',
      'depth=+5',
      'depth=5&depth=5',
    ];
    for (const depth of refusals) {
      it(`rejects ${depth}`, async () => {
        const { status, body } = await get(`orderbook?ticker_id=ETH_USDC&${depth}`);
        expect([status, body.code]).to.deep.equal([400, 'VALIDATION_ERROR']);
        expect(body.error).to.contain('depth');
      });
    }
  });

  describe('trades', () => {
    it('has exactly the fields of the contract, in both forms', async () => {
      for (const path of ['trades?ticker_id=ETH_USDC', 'trades/ETH_USDC']) {
        const { status, body } = await get(path);
        expect(status).to.equal(200);
        expect(Object.keys(body)).to.deep.equal(['buy', 'sell']);
        expect(body.buy.map(Object.keys)).to.deep.equal(
          Array(2).fill(['trade_id', 'price', 'base_volume', 'target_volume', 'trade_timestamp', 'type']),
        );
        const amounts = (item: Record<string, string>) => [
          item.price,
          item.base_volume,
          item.target_volume,
          item.type,
        ];
        expect(body.buy.map(amounts)).to.deep.equal([
          ['2000.5', '1.25', '2500.625', 'buy'],
          ['2000.01', '3', '6000.03', 'buy'],
        ]);
        expect(body.sell.map(amounts)).to.deep.equal([['1999.99', '0.75', '1499.9925', 'sell']]);
        for (const item of [...body.buy, ...body.sell]) {
          expect(Number.isSafeInteger(item.trade_id)).to.equal(true);
          expect(item.trade_timestamp).to.match(/^\d{10}$/);
        }
      }
    });

    it('are empty for a market that never traded', async () => {
      expect((await get('trades/CCC_USDC')).body).to.deep.equal({ buy: [], sell: [] });
    });

    it('leave the other side empty when one side is asked for', async () => {
      const count = async (type: string) => {
        const { buy, sell } = (await get(`trades/ETH_USDC?type=${type}`)).body;
        return [buy.length, sell.length];
      };
      expect(await count('all')).to.deep.equal([2, 1]);
      expect(await count('buy')).to.deep.equal([2, 0]);
      expect(await count('sell')).to.deep.equal([0, 1]);
    });

    it('count both sides together in limit, newest first; 0 and no value are 500', async () => {
      const prices = async (query: string) => {
        const { buy, sell } = (await get(`trades/ETH_USDC?${query}`)).body;
        return [...buy, ...sell].map((item: { price: string }) => item.price);
      };
      expect(await prices('limit=1')).to.deep.equal(['1999.99']);
      expect(await prices('limit=2')).to.deep.equal(['2000.5', '1999.99']);
      expect(await prices('limit=1&type=buy')).to.deep.equal(['2000.5']);
      for (const query of ['limit=0', 'limit=3', 'limit=501', 'limit=9999999999999999999', '']) {
        expect((await prices(query)).length, query).to.equal(3);
      }
    });

    it('take times in whole seconds, inclusive', async () => {
      const { buy, sell } = (await get('trades/ETH_USDC')).body;
      const times = [...buy, ...sell].map((item: { trade_timestamp: string }) =>
        Number(item.trade_timestamp),
      );
      const first = Math.min(...times);
      const last = Math.max(...times);
      const count = async (query: string): Promise<number> => {
        const { body } = await get(`trades/ETH_USDC?${query}`);
        return body.buy.length + body.sell.length;
      };
      expect(await count(`start_time=${first}&end_time=${last}`)).to.equal(3);
      expect(await count(`start_time=${last + 1}`)).to.equal(0);
      expect(await count(`end_time=${first - 1}`)).to.equal(0);
      expect(await count('start_time=0&end_time=0')).to.equal(0);
      expect(await count('end_time=99999999999')).to.equal(3);
      expect(await count('start_time=99999999999')).to.equal(0);
    });

    const refusals = [
      ['limit', 'limit=-1'],
      ['limit', 'limit=1.5'],
      ['limit', 'limit='],
      ['type', 'type=both'],
      ['type', 'type='],
      ['start_time', 'start_time=-1'],
      ['start_time', 'start_time=1.5'],
      ['end_time', 'end_time=now'],
      ['end_time', 'end_time=100000000001'],
      ['before_id', 'after_id=1&before_id=2'],
      ['start_time', 'start_time=2&end_time=1'],
    ] as const;
    for (const [field, query] of refusals) {
      it(`reject ${query}`, async () => {
        const { status, body } = await get(`trades?ticker_id=ETH_USDC&${query}`);
        expect([status, body.code]).to.deep.equal([400, 'VALIDATION_ERROR']);
        expect(body.error).to.contain(field);
      });
    }
  });

  describe('candles', () => {
    it('has exactly the fields of the contract, in both forms, settled or not', async function () {
      const { buy, sell } = (await get('trades/ETH_USDC')).body;
      const seconds = [...buy, ...sell].map((item: { trade_timestamp: string }) =>
        Number(item.trade_timestamp),
      );
      const dayOf = (time: number): number => time - (time % 86_400);
      if (dayOf(Math.min(...seconds)) !== dayOf(Math.max(...seconds))) this.skip(); // midnight came in between
      const day = {
        time: String(dayOf(seconds[0]!)),
        open: '2000.01',
        high: '2000.5',
        low: '1999.99',
        close: '1999.99',
        base_volume: '5',
        target_volume: '10000.6475',
      };
      for (const settled of [false, true]) {
        if (settled) await fixture.settle();
        for (const path of ['candles/ETH_USDC?tf=1D', 'candles?ticker_id=ETH_USDC&tf=1D&limit=1']) {
          const { status, body } = await get(path);
          expect(status).to.equal(200);
          expect(body).to.deep.equal({ ticker_id: 'ETH_USDC', tf: '1D', candles: [day] });
        }
      }
      const { body } = await get('candles/ETH_USDC');
      expect(body.tf).to.equal('1m');
      expect((await get('candles/BTC_USDC')).body.candles).to.deep.equal([]);
    });

    it('take start times of candles, inclusive', async () => {
      const { candles } = (await get('candles/ETH_USDC?tf=1h')).body;
      const first = Number(candles[0].time);
      const last = Number(candles.at(-1).time);
      const count = async (query: string): Promise<number> =>
        (await get(`candles/ETH_USDC?tf=1h&${query}`)).body.candles.length;
      expect(await count(`start_time=${first}&end_time=${last}`)).to.equal(candles.length);
      expect(await count(`start_time=${last + 1}`)).to.equal(0);
      expect(await count(`end_time=${first - 1}`)).to.equal(0);
      expect(await count(`end_time=${last}&limit=1000`)).to.equal(candles.length);
      expect(await count('start_time=99999999999')).to.equal(0);
      expect(await count('end_time=99999999999')).to.equal(candles.length);
    });

    it('are not served under the old prefix', async () => {
      expect((await request(fixture.app).get('/v1/coingecko/candles/ETH_USDC')).status).to.equal(404);
    });

    const refusals = [
      ['tf', 'tf=2m'],
      ['tf', 'tf=1d'],
      ['tf', 'tf='],
      ['tf', 'tf=1m&tf=5m'],
      ['limit', 'limit=0'],
      ['limit', 'limit=1001'],
      ['limit', 'limit=1.5'],
      ['limit', 'limit=-1'],
      ['start_time', 'start_time=-1'],
      ['end_time', 'end_time=now'],
      ['start_time', 'start_time=2&end_time=1'],
    ] as const;
    for (const [field, query] of refusals) {
      it(`reject ${query}`, async () => {
        const { status, body } = await get(`candles?ticker_id=ETH_USDC&${query}`);
        expect([status, body.code]).to.deep.equal([400, 'VALIDATION_ERROR']);
        expect(body.error).to.contain(field);
      });
    }
  });

  describe('the ticker id', () => {
    for (const route of ['orderbook', 'trades', 'candles']) {
      it(`is rejected by ${route} when it is missing, empty or repeated`, async () => {
        for (const query of ['', '?ticker_id=', '?ticker_id=ETH_USDC&ticker_id=ETH_USDC']) {
          const { status, body } = await get(`${route}${query}`);
          expect([status, body.code, Object.keys(body)], query).to.deep.equal([
            400,
            'VALIDATION_ERROR',
            ['error', 'code'],
          ]);
        }
      });

      it(`is not found by ${route} when it is unknown`, async () => {
        for (const id of [
          'NO_NE',
          'eth_usdc',
          'ETH/USDC',
          'ETH',
          '%00_%0A',
          '__proto__',
          'ETH_USDC_X',
          '☃',
        ]) {
          for (const path of [
            `${route}?ticker_id=${encodeURIComponent(id)}`,
            `${route}/${encodeURIComponent(id)}`,
          ]) {
            const { status, body } = await get(path);
            expect([status, body.code, Object.keys(body)], path).to.deep.equal([
              404,
              'NOT_FOUND',
              ['error', 'code'],
            ]);
          }
        }
      });
    }

    it('returns book and trades of a market that is hidden, halted or not yet open', async () => {
      for (const id of ['BBB_USDC', 'CCC_USDC']) {
        expect((await get(`orderbook/${id}`)).status).to.equal(200);
        expect((await get(`trades/${id}`)).status).to.equal(200);
      }
    });
  });

  describe('replies', () => {
    const paths = [
      'pairs',
      'summary',
      'tickers',
      'orderbook/ETH_USDC',
      'trades/ETH_USDC',
      'candles/ETH_USDC',
    ];

    it('have decimals as strings, and no number but the trade id', async () => {
      for (const path of paths) {
        const { text } = await get(path);
        expect(text.replace(/"trade_id":\d+/g, ''), path).not.to.match(/[:[,]-?\d/);
        for (const [, decimal] of text.matchAll(/"(?:\w*(?:price|volume)\w*|bid|ask|high|low)":"([^"]*)"/g)) {
          expect(decimal, path).to.match(PLAIN_DECIMAL);
        }
      }
    });

    it('may be cached for a second and read by any page', async () => {
      for (const path of paths) {
        const { headers } = await get(path);
        expect(headers['cache-control'], path).to.equal('public, max-age=1, must-revalidate');
        expect(headers['access-control-allow-origin'], path).to.equal('*');
        expect(headers.vary, path).to.equal('Accept-Encoding');
        expect(headers.etag, path).to.match(/^W\/"[\w-]+"$/);
      }
    });

    it('may not be cached when they are errors', async () => {
      const { headers } = await get('trades/NO_NE');
      expect(headers['cache-control']).to.equal('no-store');
      expect(headers).not.to.have.property('etag');
      expect(headers['access-control-allow-origin']).to.equal('*');
    });

    it('are compressed on request', async () => {
      const raw = (path: string, encoding: string): Promise<Response> =>
        request(fixture.app)
          .get(`/v1/market-data/${path}`)
          .set('Accept-Encoding', encoding)
          .buffer(true)
          .parse((response, done) => {
            // supertest decompresses the body, so the raw bytes are read here.
            const chunks: Buffer[] = [];
            response.on('data', (chunk) => chunks.push(Buffer.from(chunk)));
            response.on('end', () => done(null, Buffer.concat(chunks)));
          });
      for (const path of paths) {
        const plain = await raw(path, 'identity');
        expect(plain.headers, path).not.to.have.property('content-encoding');
        const compressed = await raw(path, 'deflate, gzip;q=0.5');
        expect(compressed.headers['content-encoding'], path).to.equal('gzip');
        const bytes: Buffer = compressed.body;
        const text = bytes[0] === 0x1f ? gunzipSync(bytes).toString() : bytes.toString();
        expect(Object.keys(JSON.parse(text)), path).to.deep.equal(
          Object.keys(JSON.parse(String(plain.body))),
        );
        for (const encoding of ['', 'br', 'gzip;q=0', 'identity, gzip;q=0.1']) {
          expect((await raw(path, encoding)).headers, `${path} ${encoding}`).not.to.have.property(
            'content-encoding',
          );
        }
      }
    });

    it('are 304 when the client has them already', async () => {
      const first = await get('pairs');
      const again = await request(fixture.app)
        .get('/v1/market-data/pairs')
        .set('If-None-Match', first.headers.etag!);
      expect([again.status, again.text]).to.deep.equal([304, '']);
      expect(again.headers.etag).to.equal(first.headers.etag);
      await fixture.market({ symbol: 'DDD/USDC' });
      const changed = await request(fixture.app)
        .get('/v1/market-data/pairs')
        .set('If-None-Match', first.headers.etag!);
      expect(changed.status).to.equal(200);
    });

    it('have only headers for HEAD, and list methods for OPTIONS', async () => {
      const head = await request(fixture.app).head('/v1/market-data/orderbook/ETH_USDC');
      expect([head.status, head.text]).to.deep.equal([200, undefined]);
      const options = await request(fixture.app)
        .options('/v1/market-data/orderbook/ETH_USDC')
        .set('Origin', 'https://anywhere.example');
      expect([options.status, options.headers.allow]).to.deep.equal([204, 'OPTIONS, GET, HEAD']);
    });

    it('need no key and ignore any', async () => {
      for (const path of paths) {
        const reply = await request(fixture.app)
          .get(`/v1/market-data/${path}`)
          .set('Authorization', 'Bearer nonsense');
        expect(reply.status, path).to.equal(200);
      }
    });

    it('are refused when the count and the read have taken their time together', async () => {
      const locking = new pg.Client({ connectionString: fixture.databaseUrl });
      await locking.connect();
      await locking.query('begin; lock table trades in access exclusive mode');
      /** An app whose requests were counted for as long as an answer may take. */
      const counted: RequestListener = (incoming, outgoing) => {
        fixture.app(incoming, outgoing);
        stateOf(outgoing as never).begunMs -= ANSWER_WITHIN_MS;
      };
      const reply = await request(counted).get('/v1/market-data/trades/ETH_USDC');
      await locking.end();
      expect([reply.status, reply.body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE']);
      // Postgres has not given the read up yet, whose refusal is another one.
      expect(reply.body.error).to.equal('the read takes too long: try again in a moment');
    });
  });

  describe('the old prefix', () => {
    it('returns the same replies, and the new address in a header', async () => {
      for (const path of ['pairs', 'summary', 'tickers', 'orderbook/ETH_USDC', 'trades/ETH_USDC']) {
        const old = await request(fixture.app).get(`/v1/coingecko/${path}`);
        expect(old.status, path).to.equal(200);
        expect(old.headers.deprecation, path).to.equal('true');
        expect(old.headers.link, path).to.equal(`</v1/market-data/${path}>; rel="successor-version"`);
        const { body } = await get(path);
        expect({ ...old.body, timestamp: 0 }, path).to.deep.equal({ ...body, timestamp: 0 });
        expect((await get(path)).headers).not.to.have.any.keys('deprecation', 'link');
      }
      const query = await request(fixture.app).get('/v1/coingecko/trades?ticker_id=ETH_USDC&limit=1');
      expect(query.headers.link).to.equal('</v1/market-data/trades>; rel="successor-version"');
      expect(query.body.sell).to.have.length(1);
    });

    it('serves `historical_trades` like `trades`', async () => {
      for (const rest of ['/ETH_USDC', '?ticker_id=ETH_USDC', '/NO_PAIR', '']) {
        const [alias, trades] = await Promise.all(
          ['historical_trades', 'trades'].map((name) =>
            request(fixture.app).get(`/v1/coingecko/${name}${rest}`),
          ),
        );
        expect([alias!.status, alias!.body], rest).to.deep.equal([trades!.status, trades!.body]);
        const { link, deprecation } = trades!.headers;
        expect(alias!.headers, rest).to.include({ link, deprecation });
      }
    });

    it('rejects the same requests, with the same headers', async () => {
      const reply = await request(fixture.app).get('/v1/coingecko/orderbook');
      expect([reply.status, reply.body.code]).to.deep.equal([400, 'VALIDATION_ERROR']);
      expect(reply.headers.deprecation).to.equal('true');
      const strange = await request(fixture.app).get('/v1/coingecko/orderbook/%3E%22');
      expect(strange.status).to.equal(404);
      expect(strange.headers.link).to.equal('</v1/market-data/orderbook/%3E%22>; rel="successor-version"');
    });

    it('is served only when the setting is on', async () => {
      const { app } = await fixture.replica({ legacyPrefix: '/old/data' });
      expect((await request(app).get('/old/data/pairs')).headers.deprecation).to.equal('true');
      expect((await request(app).get('/v1/coingecko/pairs')).status).to.equal(404);
    });
  });

  describe('the conventions of the aggregators', () => {
    it('hold for a book: a depth of 100 is 50 a side, pairs of strings, a text of milliseconds', async () => {
      const { body } = await get('orderbook?ticker_id=BTC_USDC&depth=100');
      expect([body.bids.length, body.asks.length]).to.deep.equal([50, 50]);
      for (const level of [...body.bids, ...body.asks]) {
        expect(level).to.have.length(2);
        for (const decimal of level) expect(decimal).to.be.a('string').that.matches(PLAIN_DECIMAL);
      }
      expect(body.timestamp).to.be.a('string');
    });

    it('hold for trades: arrays of buys and sells, seconds as text, ids that rise', async () => {
      const { buy, sell } = (await get('trades?ticker_id=ETH_USDC')).body;
      expect(buy).to.be.an('array');
      expect(sell).to.be.an('array');
      for (const side of [buy, sell]) {
        const ids = side.map((item: { trade_id: number }) => item.trade_id);
        expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => Number(b) - Number(a)));
        for (const { trade_timestamp } of side) expect(trade_timestamp).to.match(/^\d{10}$/);
      }
    });

    it('hold for ids: every pair is the key of one market, every ticker id a pair', async () => {
      const [pairs, tickers, summary] = await Promise.all([get('pairs'), get('tickers'), get('summary')]);
      const ids = (list: { ticker_id: string }[]) => list.map(({ ticker_id }) => ticker_id);
      expect(ids(pairs.body)).to.include.members(ids(tickers.body));
      for (const [key, entry] of Object.entries<{ ticker_id: string }>(summary.body)) {
        expect(entry.ticker_id).to.equal(key);
      }
    });
  });
});
