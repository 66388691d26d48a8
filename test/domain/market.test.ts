/** Tests properties of market rules against independent integer arithmetic. */

import { expect } from 'chai';
import { OperatorRefusal } from '../../src/domain/errors.ts';
import { MAX_MARKETS, type Market } from '../../src/domain/market.ts';
import { marketGrid } from '../../src/domain/market-grid.ts';
import { composeMarket, type MarketSpec } from '../../src/domain/market-rules.ts';
import { unitsOf } from '../proofs/equivalence/decimals.ts';
import { marketSpec } from '../support/market-spec.ts';
import { type Random, random, runSeed } from '../support/seed.ts';

const ONE = 10n ** 18n;
const SIZES = [
  '1',
  '5',
  '0.5',
  '0.25',
  '0.1',
  '0.02',
  '0.01',
  '0.003',
  '0.0001',
  '0.000001',
  '10',
  '0.000000001',
];

interface Drawn {
  readonly spec: MarketSpec;
  readonly baseScale: number;
  readonly quoteScale: number;
}

function draw(dice: Random): Drawn {
  const size = (nullable: number): string | null => (dice.chance(nullable) ? null : dice.pick(SIZES));
  const spec = marketSpec('AAA/BBB', {
    feeBps: dice.below(1_001),
    tickSize: size(0.3),
    sizeStep: size(0.3),
    minOrderSize: size(0.5),
    maxOrderSize: size(0.5),
  });
  return { spec, baseScale: dice.below(10), quoteScale: dice.below(10) };
}

const compose = ({ spec, baseScale, quoteScale }: Drawn, number = 1): Market =>
  composeMarket(spec, number, { symbol: 'AAA', scale: baseScale }, { symbol: 'BBB', scale: quoteScale });

/** True if a value in units of 10^-18 is a whole number of atoms. */
const isWhole = (units: bigint, scale: number): boolean => (units * 10n ** BigInt(scale)) % ONE === 0n;

/** True if a tick times a step is a whole number of quote atoms. */
const isExact = (tick: string, step: string, scale: number): boolean =>
  (unitsOf(tick) * unitsOf(step) * 10n ** BigInt(scale)) % (ONE * ONE) === 0n;

const refusalOf = (drawn: Drawn): string | undefined => {
  try {
    compose(drawn);
    return undefined;
  } catch (error) {
    if (error instanceof OperatorRefusal) return error.message;
    throw error;
  }
};

describe('market rules', () => {
  const dice = random(runSeed());
  const drawn = Array.from({ length: 3_000 }, () => draw(dice));

  it('make a grid on which every notional is a whole number of atoms', () => {
    for (const one of drawn) {
      if (refusalOf(one) !== undefined) continue;
      const market = compose(one);
      expect(isWhole(unitsOf(market.step), one.baseScale), JSON.stringify(one)).to.equal(true);
      expect(isExact(market.tick, market.step, one.quoteScale), JSON.stringify(one)).to.equal(true);
      expect(market.baseAtomsPerStep * ONE).to.equal(unitsOf(market.step) * 10n ** BigInt(one.baseScale));
      expect(market.quoteAtomsPerLot * ONE * ONE).to.equal(
        unitsOf(market.tick) * unitsOf(market.step) * 10n ** BigInt(one.quoteScale),
      );
    }
  });

  it('number as many markets as are allowed, from 0', () => {
    const one = drawn.find((other) => refusalOf(other) === undefined)!;
    expect(compose(one, MAX_MARKETS - 1).number).to.equal(31_999);
    expect(() => compose(one, MAX_MARKETS)).to.throw(OperatorRefusal, 'more than 32000 markets');
  });

  it('publish the given tick and step unchanged', () => {
    for (const one of drawn) {
      if (refusalOf(one) !== undefined) continue;
      const { tickSize, sizeStep, tick, step } = compose(one);
      if (one.spec.tickSize !== null) expect(unitsOf(tick)).to.equal(unitsOf(one.spec.tickSize));
      if (one.spec.sizeStep !== null) expect(unitsOf(step)).to.equal(unitsOf(one.spec.sizeStep));
      expect([tickSize, sizeStep].map((rule) => rule === null)).to.deep.equal(
        [one.spec.tickSize, one.spec.sizeStep].map((rule) => rule === null),
      );
    }
  });

  it('choose the finest exact tick when none is given', () => {
    for (const one of drawn) {
      if (one.spec.tickSize !== null || refusalOf(one) !== undefined) continue;
      const { tick, step } = compose(one);
      // The exact ticks are the multiples of the finest, so none of its parts is exact.
      const lots = unitsOf(tick) * unitsOf(step) * 10n ** BigInt(one.quoteScale);
      for (const part of [2n, 3n, 5n, 7n])
        expect(lots % (ONE * ONE * part) === 0n && unitsOf(tick) % part === 0n, `${tick} / ${part}`).to.equal(
          false,
        );
    }
  });

  it('are rejected only when a rule is not exact or contradicts another, with advice that helps', () => {
    let refused = 0;
    for (const one of drawn) {
      const message = refusalOf(one);
      if (message === undefined) continue;
      refused += 1;
      const { tickSize, sizeStep, minOrderSize, maxOrderSize } = one.spec;
      const [, advised] = /change tickSize to a multiple of ([\d.]+)/.exec(message) ?? [];
      if (advised !== undefined) {
        expect(isExact(tickSize!, sizeStep!, one.quoteScale), message).to.equal(false);
        const again = refusalOf({ ...one, spec: { ...one.spec, tickSize: advised } });
        expect(again === undefined || /minOrderSize/.test(again), `${message} -> ${again}`).to.equal(true);
      } else if (/change sizeStep/.test(message)) {
        expect(isWhole(unitsOf(sizeStep!), one.baseScale), message).to.equal(false);
      } else if (/minOrderSize/.test(message)) {
        expect(unitsOf(minOrderSize!) > unitsOf(maxOrderSize!), message).to.equal(true);
      } else {
        expect([tickSize, sizeStep], message).to.deep.equal([null, null]);
      }
    }
    expect(refused).to.be.greaterThan(100);
  });

  it('round the minimum size up and the maximum size down to a step', () => {
    for (const one of drawn) {
      if (refusalOf(one) !== undefined) continue;
      const market = compose(one);
      const { minSteps, maxSteps } = marketGrid(market);
      const step = unitsOf(market.step);
      if (market.minOrderSize !== null) {
        const min = unitsOf(market.minOrderSize);
        expect(minSteps! * step >= min && (minSteps! - 1n) * step < min, JSON.stringify(one)).to.equal(true);
      }
      if (market.maxOrderSize !== null) {
        const max = unitsOf(market.maxOrderSize);
        expect(maxSteps! * step <= max && (maxSteps! + 1n) * step > max, JSON.stringify(one)).to.equal(true);
      }
    }
  });
});
