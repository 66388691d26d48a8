/** The rows of the order book: grouping, depth, the spread and the marks of own orders. */

import { expect } from 'chai';
import { gridOf } from '../../src/domain/units.ts';
import { depthAt, depthCurves } from '../../src/web/figures/depth-curve.ts';
import { groupBook, groupingFactors, ownRows, spreadOf } from '../../src/web/figures/grouped-book.ts';

const grid = (tick: string, step: string) => ({ tick: gridOf(tick)!, step: gridOf(step)! });
const cents = grid('0.01', '0.0001');
const level = (price: string, size: string) => ({ price, size });
const cells = (rows: readonly { price: string; size: string; total: string }[]): string[] =>
  rows.map(({ price, size, total }) => `${price} ${size} ${total}`);

describe('the rows of the order book', () => {
  const bids = [level('1999.99', '0.5'), level('1999.95', '1.25'), level('1999.9', '0.0001')];
  const asks = [level('2000.01', '0.1'), level('2000.05', '0.2'), level('2000.1', '3')];

  it('have a curve of each side, which a far order does not flatten', () => {
    const far = [...bids, level('0.01', '1000')];
    const curves = depthCurves({
      bids: [...far.slice(0, 3), ...Array(12).fill(level('1999', '1')), far[3]!],
      asks,
    });
    const figures = [curves!.bids.total, ...curves!.prices].map((figure) => figure.toFixed(4));
    expect(figures).to.deep.equal(['13.7501', '1998.9500', '2000.0000', '2001.0500']);
    const wide = depthCurves({ bids: [...bids, level('1700', '2')], asks })!;
    expect(wide.prices.map(Math.round)).to.deep.equal([1685, 2000, 2315]);
    const book = { bids, asks };
    const near = depthCurves(book)!;
    expect(near.prices[2]).to.be.closeTo(2000.105, 0.001);
    expect(depthCurves(book, 0.5)!.prices[2]).to.be.closeTo(2000.21, 0.001);
    expect(depthAt(book, near, 1)).to.deep.include({ side: 'asks', total: 3.3 });
    expect(depthAt(book, near, 0.75)).to.deep.include({ side: 'asks' });
    expect(curves!.asks.points).to.match(/^500,1000 .* 1000,1000$/);
    expect(depthCurves({ bids, asks: [] })).to.equal(null);
  });

  it('show ungrouped levels as the stream wrote them, with cumulative sizes', () => {
    const book = groupBook({ bids, asks }, cents, 1n);
    expect(cells(book.bids)).to.deep.equal(['1999.99 0.5 0.5', '1999.95 1.25 1.75', '1999.9 0.0001 1.7501']);
    expect(cells(book.asks)).to.deep.equal(['2000.01 0.1 0.1', '2000.05 0.2 0.3', '2000.1 3 3.3']);
  });

  it('round bids down and asks up to the group', () => {
    const book = groupBook({ bids, asks }, cents, 10n);
    expect(cells(book.bids)).to.deep.equal(['1999.9 1.7501 1.7501']);
    expect(cells(book.asks)).to.deep.equal(['2000.1 3.3 3.3']);
  });

  it('group by the tick, whatever its digits', () => {
    const quarter = grid('0.25', '1');
    const book = groupBook({ bids: [level('10.75', '2'), level('10.25', '3')], asks: [] }, quarter, 10n);
    expect(cells(book.bids)).to.deep.equal(['10 5 5']);
  });

  it('sum without losing digits that a double would lose', () => {
    const exact = grid('0.000001', '0.000000001');
    const asks = [level('1000000000.000001', '9007199.254740993'), level('1000000000.000002', '0.000000002')];
    expect(cells(groupBook({ bids: [], asks }, exact, 1n).asks)).to.deep.equal([
      '1000000000.000001 9007199.254740993 9007199.254740993',
      '1000000000.000002 0.000000002 9007199.254740995',
    ]);
  });

  it('draw depth relative to the deeper side, within the row', () => {
    const many = Array.from({ length: 250 }, (_, at) => level(String(3000 + at), '1'));
    const book = groupBook({ bids: [level('2999', '12')], asks: many }, cents, 1n);
    expect(book.bids[0]!.depth).to.equal(50);
    expect(book.asks[11]!.depth).to.equal(50);
    expect(book.asks.slice(23).every(({ depth }) => depth === 100)).to.equal(true);
  });

  it('scale depth by the rows near the mid when an order stands far from it', () => {
    const near = [level('1999', '1'), level('1990', '3')];
    const book = groupBook({ bids: [...near, level('0.01', '1000')], asks: [level('2001', '4')] }, cents, 1n);
    expect(book.bids.map(({ depth }) => depth)).to.deep.equal([25, 100, 100]);
    const apart = groupBook({ bids: [level('1', '2')], asks: [level('2000', '4')] }, cents, 1n);
    expect([apart.bids[0]!.depth, apart.asks[0]!.depth]).to.deep.equal([50, 100]);
  });

  it('reject a level that is off the grid of the market', () => {
    expect(() => groupBook({ bids: [level('0.001', '1')], asks: [] }, cents, 1n)).to.throw(RangeError);
  });
});

describe('the groupings of the order book', () => {
  it('are powers of ten of the tick, up to a twentieth of the price', () => {
    expect(groupingFactors('2000', gridOf('0.01')!)).to.deep.equal([1n, 10n, 100n, 1000n, 10000n]);
    expect(groupingFactors('0.000019', gridOf('0.000001')!)).to.deep.equal([1n]);
  });

  it('are at most eight, and one while the book is empty', () => {
    expect(groupingFactors('1000000000', gridOf('0.000001')!)).to.have.length(8);
    expect(groupingFactors(null, gridOf('0.01')!)).to.deep.equal([1n]);
  });
});

describe('the spread', () => {
  it('is the difference of the best prices, with the mid between them', () => {
    expect(spreadOf('1999.99', '2000.02', gridOf('0.01')!)).to.deep.equal({
      spread: '0.03',
      mid: '2000.005',
      percent: '0.001',
    });
    expect(spreadOf('1234549.99', '1234550.01', gridOf('0.01')!)).to.include({ percent: '< 0.001' });
  });

  it('is absent while a side is empty', () => {
    expect(spreadOf(undefined, '2000.02', gridOf('0.01')!)).to.equal(null);
  });
});

describe('own orders in the book', () => {
  const orders = [
    { side: 'buy', price: '1999.97' },
    { side: 'sell', price: '2000.02' },
    { side: 'buy', price: null },
  ] as const;

  it('mark the row of their grouped price on their side', () => {
    const { tick } = cents;
    expect([...ownRows(orders, 'bid', tick, 1n)]).to.deep.equal(['1999.97']);
    expect([...ownRows(orders, 'bid', tick, 10n)]).to.deep.equal(['1999.9']);
    expect([...ownRows(orders, 'ask', tick, 10n)]).to.deep.equal(['2000.1']);
  });
});
