/** Proves that the prices and sizes of the live demo are on the grid of any market. */

import { expect } from 'chai';
import {
  drawSize,
  LEVELS,
  levelsAround,
  liveMarket,
  openWalk,
  priceText,
} from '../../../src/demo/live-market.ts';
import { random } from '../../../src/demo/random.ts';
import { marketGrid } from '../../../src/domain/market-grid.ts';
import { composeMarket, type MarketSpec } from '../../../src/domain/market-rules.ts';
import { countOf, parseDecimal } from '../../../src/domain/units.ts';
import { marketSpec } from '../../support/market-spec.ts';
import { runSeed } from '../../support/seed.ts';

const lastAt = (lastTicks: bigint | null = null) => ({ bestBidTicks: null, bestAskTicks: null, lastTicks });

describe('the live demo, on a market', () => {
  const grids: [
    name: string,
    scales: [base: number, quote: number],
    rules: Partial<MarketSpec>,
    lastTicks?: bigint,
  ][] = [
    ['of the demo', [8, 6], { tickSize: '0.01', sizeStep: '0.0001', minOrderSize: '0.001' }],
    ['with a tick of 0.000001 and a step of 1', [0, 9], { tickSize: '0.000001', sizeStep: '1' }],
    ['with a price of 1e9', [9, 0], { tickSize: '1', sizeStep: '1' }, 10n ** 9n],
    ['with a price of one tick', [8, 8], { tickSize: '0.5', sizeStep: '0.1' }, 1n],
    ['with a tick of 25', [2, 2], { tickSize: '25', sizeStep: '5', minOrderSize: '7' }],
    ['with one size', [8, 6], { tickSize: '0.1', sizeStep: '0.001', minOrderSize: '3', maxOrderSize: '3' }],
    ['without a published step', [4, 8], { tickSize: '0.01' }],
  ];
  for (const [name, scales, rules, lastTicks] of grids)
    it(`keeps to the rules of ${name}`, () => {
      const market = marketOf(scales, rules);
      const { tick, step, minSteps, maxSteps } = marketGrid(market);
      const live = liveMarket(market, lastAt(lastTicks))!;
      const drawn = random(runSeed());
      const walk = openWalk(live, drawn);
      for (let turn = 0; turn < 40; turn += 1) {
        const midTicks = walk();
        const levels = levelsAround(live, midTicks);
        expect(levels).to.have.length(2 * Number(LEVELS));
        for (const { side, priceTicks } of levels) {
          expect(
            priceTicks > 0n && (side === 'buy' ? priceTicks < midTicks : priceTicks >= midTicks),
          ).to.equal(true);
          expect(countOf(parseDecimal(priceText(live, priceTicks))!, tick)).to.equal(priceTicks);
        }
        expect(new Set(levels.map(({ priceTicks }) => priceTicks)).size).to.equal(levels.length);
        const steps = countOf(parseDecimal(drawSize(live, drawn))!, step)!;
        expect(steps >= (minSteps ?? 1n) && (maxSteps === null || steps <= maxSteps)).to.equal(true);
        for (const { priceTicks } of levels)
          expect(priceTicks * steps * market.quoteAtomsPerLot < 2n ** 53n).to.equal(true);
        expect(steps * market.baseAtomsPerStep < 2n ** 53n).to.equal(true);
      }
    });

  it('leaves out a market whose minimum order is too large to be exact', () => {
    const market = marketOf([0, 9], { tickSize: '0.000001', sizeStep: '1' });
    expect(liveMarket(market, lastAt(10n ** 15n))).to.equal(undefined);
  });

  it('starts at the price of the book, and repeats its moves for the same seed', () => {
    const market = marketOf([8, 6], { tickSize: '0.01', sizeStep: '0.0001' });
    const live = liveMarket(market, { bestBidTicks: 200_000n, bestAskTicks: 200_200n, lastTicks: 1n })!;
    expect(live.startTicks).to.equal(200_100n);
    const pathOf = (seed: number): bigint[] => {
      const walk = openWalk(live, random(seed));
      return Array.from({ length: 50 }, walk);
    };
    expect(pathOf(7)).to.deep.equal(pathOf(7));
    expect(pathOf(7)).to.not.deep.equal(pathOf(8));
    expect(new Set(pathOf(7)).size).to.be.greaterThan(10);
  });

  const marketOf = ([base, quote]: [number, number], rules: Partial<MarketSpec>) =>
    composeMarket(
      marketSpec('BASE/QUOTE', { tickSize: null, sizeStep: null, ...rules }),
      0,
      { symbol: 'BASE', scale: base },
      { symbol: 'QUOTE', scale: quote },
    );
});
