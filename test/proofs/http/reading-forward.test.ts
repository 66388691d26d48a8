/** Proves that whoever reads lists of orders and executions forward or backward by pages reads all of them. */

import { expect } from 'chai';
import request from 'supertest';
import { type Fixture, openFixture, type Trader } from '../../http/fixture.ts';

const SIZE = 0.002;
/** One order may take as many makers, and more than a page of any list has. */
const SWEPT = 1_000;
const ORDERS_OF_BATCH = 50;

type Item = Readonly<Record<string, string | number>>;

describe('reading forward', function () {
  this.timeout(240_000);
  let fixture: Fixture;
  let maker: Trader;
  let taker: Trader;
  /** Ids of the public executions. */
  let tape: number[];

  const rest = async (count: number): Promise<void> => {
    const order = { market: 'ETH/USDC', side: 'sell', type: 'limit', price: 2000, size: SIZE };
    for (let left = count; left > 0; left -= ORDERS_OF_BATCH) {
      const { body } = await maker.post('/v1/orders/batch', { orders: Array(ORDERS_OF_BATCH).fill(order) });
      expect(body.results[0].status, JSON.stringify(body.results[0])).to.equal(200);
    }
  };
  const sweep = async (): Promise<void> => {
    await rest(SWEPT);
    const size = SWEPT * SIZE;
    const order = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 2000, size, timeInForce: 'IOC' };
    expect((await taker.post('/v1/orders', order)).body.status).to.equal('filled');
  };

  before(async () => {
    fixture = await openFixture();
    maker = await fixture.trader({ ETH: '10' });
    taker = await fixture.trader({ USDC: '10000' });
    await sweep();
    await fixture.settle();
    await sweep();
    const { orders } = (await taker.get('/v1/orders')).body;
    expect(orders).to.have.length(2);
    tape = orders.flatMap(({ fills }: { fills: Item[] }) => fills.map(({ id }) => Number(id)));
    tape.sort((one, other) => one - other);
    expect(tape).to.have.length(2 * SWEPT);
  });
  after(() => fixture.close());

  /** Reads all pages of an own list. */
  const pages = async (who: Trader, list: 'orders' | 'trades', query: string): Promise<Item[]> => {
    const items: Item[] = [];
    let cursor = '';
    do {
      const { status, body } = await who.get(`/v1/${list}?${query}${cursor}`);
      expect(status, JSON.stringify(body)).to.equal(200);
      items.push(...body[list]);
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
    return items;
  };
  const tradeIds = (items: Item[]): number[] => items.map(({ id }) => Number(id));
  const msOf = (item: Item | undefined): number => Date.parse(`${item!.createdAt}`);

  for (const settled of [false, true])
    describe(settled ? 'with everything settled' : 'with one half unsettled', () => {
      before(async () => {
        if (settled) await fixture.settle();
      });

      it('shows each own trade once, in both directions', async () => {
        for (const who of [maker, taker])
          for (const limit of [500]) {
            expect(tradeIds(await pages(who, 'trades', `order=asc&limit=${limit}`))).to.deep.equal(tape);
            expect(tradeIds(await pages(who, 'trades', `limit=${limit}`))).to.deep.equal(tape.toReversed());
          }
      });

      it('shows each own order once, by status, in both directions', async () => {
        for (const status of ['', '&status=closed']) {
          const down = await pages(maker, 'orders', `limit=100${status}`);
          const up = await pages(maker, 'orders', `limit=100&order=asc${status}`);
          expect(down.length).to.equal(2 * SWEPT);
          expect(up).to.deep.equal(down.toReversed());
        }
      });

      it('begins at `since` and ends before `until`', async () => {
        for (const list of ['orders', 'trades'] as const) {
          const all = await pages(maker, list, 'order=asc');
          const times = [...new Set(all.map(msOf))];
          const first = times[0]!;
          const last = times.at(-1)!;
          const middle = times[times.length >> 1]!;
          for (const [since, until] of [
            ...[
              [first, last],
              [middle, last + 1],
              [first, middle],
              [0, first],
              [last + 1, last + 9],
            ],
            ...[
              [middle, middle + 1],
              [0, 9e14],
            ],
          ] as const) {
            const expected = all.filter((item) => msOf(item) >= since && msOf(item) < until);
            const iso = new Date(until).toISOString().replace('Z', '+00:00');
            const query = `since=${since}&until=${until > 1e14 ? until : encodeURIComponent(iso)}`;
            expect(await pages(maker, list, `${query}&order=asc`), query).to.deep.equal(expected);
            expect(await pages(maker, list, query), query).to.deep.equal(expected.toReversed());
          }
        }
      });

      it('reaches each execution of the public tape by ids, whatever shares a second', async () => {
        const read = async (query: string): Promise<number[]> => {
          await fixture.forgetRequests();
          const { body } = await request(fixture.app).get(`/v1/market-data/trades/ETH_USDC?${query}`);
          expect(body.sell).to.deep.equal([]);
          return body.buy.map(({ trade_id }: Item) => Number(trade_id));
        };
        for (const limit of [500, 300]) {
          const up: number[] = [];
          for (let page = await read(`after_id=0&limit=${limit}`); page.length > 0; ) {
            up.push(...page.toReversed());
            page = await read(`after_id=${up.at(-1)}&limit=${limit}`);
          }
          expect(up).to.deep.equal(tape);
          const down = await read(`limit=${limit}`);
          for (let page = down; page.length > 0; ) {
            page = await read(`before_id=${down.at(-1)}&limit=${limit}&type=buy`);
            down.push(...page);
          }
          expect(down).to.deep.equal(tape.toReversed());
        }
        expect(await read(`after_id=${tape[0]}&limit=1&end_time=1`)).to.deep.equal([]);
        expect(await read(`after_id=99999999999999999999`)).to.deep.equal([]);
      });
    });

  it('refuses what has no meaning', async () => {
    const { nextCursor } = (await maker.get('/v1/trades?order=asc&limit=1')).body;
    for (const query of ['', '&order=desc', '&order=asc&since=1'])
      expect((await maker.get(`/v1/trades?cursor=${nextCursor}${query}`)).body.code).to.equal(
        'VALIDATION_ERROR',
      );
    for (const query of ['order=up', 'since=yesterday', 'until=2026-01-01T00:00:00'])
      expect((await maker.get(`/v1/orders?${query}`)).body.code, query).to.equal('VALIDATION_ERROR');
    for (const query of [
      'after_id=1&before_id=2',
      'after_id=-1',
      `start_time=${Date.now()}`,
      `end_time=${Date.now()}`,
    ]) {
      const { status, body } = await request(fixture.app).get(`/v1/market-data/trades/ETH_USDC?${query}`);
      expect([status, body.code], query).to.deep.equal([400, 'VALIDATION_ERROR']);
      if (query.includes('_time')) expect(body.error).to.include('seconds');
    }
  });

  it('returns the oldest candles of a range', async () => {
    const of = async (query: string) =>
      (await request(fixture.app).get(`/v1/market-data/candles/ETH_USDC?tf=1m&${query}`)).body.candles;
    const all = await of('');
    expect(await of('pick=oldest&limit=1')).to.deep.equal(all.slice(0, 1));
    expect(await of('pick=newest&limit=1')).to.deep.equal(all.slice(-1));
    expect(await of('pick=oldest')).to.deep.equal(all);
  });
});
