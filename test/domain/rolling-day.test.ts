/** Compares the rolling day with a recomputation over the executions of its window. */

import { expect } from 'chai';
import { changeInHundredths, RollingDay, type SecondOfTrades } from '../../src/domain/rolling-day.ts';
import { random, runSeed } from '../support/seed.ts';

type Execution = SecondOfTrades & { readonly timeMs: number };

const execution = (second: number, ticks: bigint, steps: bigint): Execution => ({
  market: 'AAA/BBB',
  second,
  timeMs: second * 1_000,
  trades: 1,
  sizeSteps: steps,
  quoteAtoms: ticks * steps,
  firstTicks: ticks,
  lastTicks: ticks,
  highTicks: ticks,
  lowTicks: ticks,
});

/** Recomputes the figures from all executions. */
function recomputed(all: readonly Execution[], from: number) {
  const last = all.at(-1);
  if (last === undefined) return null;
  const within = all.filter(({ second }) => second >= from);
  const prices = within.map(({ lastTicks }) => lastTicks);
  const sorted = [...prices].sort((one, other) => Number(one - other));
  const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n);
  return {
    lastPriceTicks: last.lastTicks,
    firstPriceTicks: prices[0] ?? null,
    highTicks: sorted.at(-1) ?? null,
    lowTicks: sorted[0] ?? null,
    baseSteps: sum(within.map(({ sizeSteps }) => sizeSteps)),
    quoteAtoms: sum(within.map(({ quoteAtoms }) => quoteAtoms)),
    trades: within.length,
  };
}

describe('the rolling day', () => {
  it('equals a recomputation at every moment, with and without executions that are not kept', () => {
    const dice = random(runSeed());
    for (let history = 0; history < 40; history += 1) {
      const day = new RollingDay(null);
      const kept: Execution[] = [];
      let second = 1_000_000;
      let from = 0;
      for (let step = 0; step < 60; step += 1) {
        second += dice.below(4) * dice.below(40);
        const added = execution(second, BigInt(1 + dice.below(50)), BigInt(1 + dice.below(9)));
        day.add(added);
        kept.push(added);
        from = Math.max(from, second - dice.below(120));
        day.dropBefore(from);
        const further = Array.from({ length: dice.below(3) }, (_, index) =>
          execution(second + index, BigInt(1 + dice.below(50)), BigInt(1 + dice.below(9))),
        );
        expect(day.figures(further, from)).to.deep.equal(recomputed([...kept, ...further], from));
      }
    }
  });

  it('keeps the last price, and no other figure, when its window is empty', () => {
    const day = new RollingDay(null);
    expect(day.figures([], 0)).to.equal(null);
    day.add(execution(10, 7n, 1n));
    day.dropBefore(11);
    expect(day.figures([], 11)).to.deep.equal({
      lastPriceTicks: 7n,
      firstPriceTicks: null,
      highTicks: null,
      lowTicks: null,
      baseSteps: 0n,
      quoteAtoms: 0n,
      trades: 0,
    });
  });

  it('rounds its change half away from zero', () => {
    const change = (first: bigint, last: bigint): bigint =>
      changeInHundredths({ firstPriceTicks: first, lastPriceTicks: last } as Parameters<
        typeof changeInHundredths
      >[0]);
    // In hundredths of a percent: 1/20000 is 0.5, 1/20001 is less.
    expect([change(20_000n, 20_001n), change(20_000n, 19_999n)]).to.deep.equal([1n, -1n]);
    expect([change(20_001n, 20_002n), change(20_001n, 20_000n)]).to.deep.equal([0n, 0n]);
    const dice = random(runSeed());
    for (let round = 0; round < 2_000; round += 1) {
      const first = BigInt(1 + dice.below(1e9));
      const last = BigInt(1 + dice.below(1e9));
      const exact = (last - first) * 10_000n;
      const rounded = change(first, last) * first;
      const distance = exact > rounded ? exact - rounded : rounded - exact;
      expect(distance * 2n <= first, `${first} -> ${last}`).to.equal(true);
    }
  });
});
