/** Proves that the mark price comes from the best prices, the last execution or the reference price, in this order. */

import { expect } from 'chai';
import { type MarkSources, markOf } from '../../src/domain/mark.ts';
import { composeMarket } from '../../src/domain/market-rules.ts';
import { marketSpec } from '../support/market-spec.ts';

const market = (referencePrice: string | null) =>
  composeMarket(
    marketSpec('ETH/USDC', { tickSize: '0.05', sizeStep: '0.01', referencePrice }),
    0,
    { symbol: 'ETH', scale: 8 },
    { symbol: 'USDC', scale: 6 },
  );

const NONE = { bestBidTicks: null, bestAskTicks: null, lastTicks: null };

describe('mark', () => {
  const cases: readonly (readonly [what: string, sources: Partial<MarkSources>, mark: string | null])[] = [
    ['the mid of a two-sided book', { bestBidTicks: 100n, bestAskTicks: 102n, lastTicks: 7n }, '5.05'],
    ['a mid between two ticks', { bestBidTicks: 100n, bestAskTicks: 101n }, '5.025'],
    [
      'a mid of the largest prices',
      { bestBidTicks: 2n ** 53n - 3n, bestAskTicks: 2n ** 53n - 2n },
      '450359962737049.475',
    ],
    ['the last execution where a side is missing', { bestBidTicks: 100n, lastTicks: 7n }, '0.35'],
    ['the only bid', { bestBidTicks: 100n }, '5'],
    ['the only ask', { bestAskTicks: 100n }, '5'],
    ['the reference price of an untouched market', {}, '4.2'],
  ];
  for (const [what, sources, mark] of cases) {
    it(`is ${what}`, () => {
      expect(markOf(market('4.2'), { ...NONE, ...sources })).to.equal(mark);
    });
  }

  it('is null when there is no quote, trade or reference price', () => {
    expect(markOf(market(null), NONE)).to.equal(null);
  });
});
