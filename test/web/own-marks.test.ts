/** The marks of own orders and fills in the chart. */

import { expect } from 'chai';
import { arrowsOf, linesOf } from '../../src/web/figures/own-marks.ts';

const order = (price: string | null, side: 'buy' | 'sell' = 'buy', market = 'ETH/USDC') => ({
  market,
  side,
  price,
  remainingSize: '0.5',
});
const candle = (time: number) => ({ time, open: '1', high: '1', low: '1', close: '1', volume: '1' });

describe('own marks in the chart', () => {
  it('draw one line for each price and side of this market with what is left there, the nearest 40 at most', () => {
    const orders = [
      order('10'),
      order('10'),
      order('10', 'sell'),
      order(null),
      order('9', 'buy', 'BTC/USDC'),
    ];
    expect(linesOf(orders, 'ETH/USDC', null)).to.deep.equal([
      { side: 'buy', price: '10', size: '1' },
      { side: 'sell', price: '10', size: '0.5' },
    ]);
    const ladder = Array.from({ length: 60 }, (_none, at) => order(String(at + 1)));
    const near = linesOf(ladder, 'ETH/USDC', '60');
    expect(near.map(({ price }) => Number(price))).to.deep.equal(
      Array.from({ length: 40 }, (_none, at) => 60 - at),
    );
  });

  it('draw one arrow for each candle and side with fills, where the candle is drawn', () => {
    const fill = (createdAt: string, side: 'buy' | 'sell' = 'buy') => ({
      market: 'ETH/USDC',
      side,
      createdAt,
    });
    const fills = [
      fill('2026-01-05T09:31:59.999Z'),
      fill('2026-01-05T09:31:00.000Z'),
      fill('2026-01-05T09:30:59.999Z', 'sell'),
      fill('2026-01-05T08:00:00.000Z'),
    ];
    const start = Date.UTC(2026, 0, 5, 9, 30) / 1_000;
    const candles = [candle(start), candle(start + 60)];
    expect(arrowsOf(fills, 'ETH/USDC', '1m', candles)).to.deep.equal([
      { side: 'sell', time: start },
      { side: 'buy', time: start + 60 },
    ]);
    expect(arrowsOf(fills, 'BTC/USDC', '1m', candles)).to.deep.equal([]);
  });
});
