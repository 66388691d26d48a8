/** Compares the separate code paths of short and long decimals with each other, and with decimal.js. */

import { expect } from 'chai';
import { Decimal as DecimalJs } from 'decimal.js';
import {
  compareWith,
  countOf,
  type Decimal,
  formatCount,
  formatDecimal,
  formatScaled,
  gridOf,
  halfExactly,
  isPositive,
  isWhole,
  multiplyExactly,
  parseDecimal,
  subtract,
  sumOfProducts,
  toInteger,
  toScaled,
  toScaledDown,
} from '../../src/domain/units.ts';
import { unitsOf, writeDecimal } from '../proofs/equivalence/decimals.ts';
import { type Random, random, runSeed } from '../support/seed.ts';

const GRIDS = ['1', '0.01', '0.0001', '0.25', '5', '0.000000001', '1e-12', '3e7', '1e-20'].map(
  (text) => gridOf(text)!,
);

const digits = (dice: Random, most: number): string =>
  Array.from({ length: 1 + dice.below(most) }, () => dice.pick([...'0000123456789'])).join('');

const decimalText = (dice: Random): string =>
  dice.chance(0.3) ? digits(dice, 17) : `${digits(dice, 10)}.${digits(dice, 9)}`;

/** Results of every function of units for a decimal. */
const readings = (value: Decimal): readonly unknown[] => [
  ...GRIDS.map((grid) => countOf(value, grid)),
  ...[0, 6, 9, 18].flatMap((scale) => [toScaled(value, scale), toScaledDown(value, scale)]),
  isPositive(value),
  isWhole(value),
  toInteger(value),
  ...['0', '50', 100, '0.000000001'].map((other) => Math.sign(compareWith(value, other))),
];

describe('decimals', () => {
  it('with few digits equal those that are read as long ones', () => {
    const dice = random(runSeed());
    const edges = ['0', '00', '0.0', '999999999999999', '9999999999999999', '0.0000000000001', '10.00'];
    for (const text of [...edges, ...Array.from({ length: 2_000 }, () => decimalText(dice))]) {
      // With an exponent, the text is read as a long decimal.
      expect(readings(parseDecimal(text)!), text).to.deep.equal(readings(parseDecimal(`${text}e0`)!));
    }
  });

  it('with many digits, signs and exponents equal those of decimal.js', () => {
    const Exact = DecimalJs.clone({ precision: 1200, toExpNeg: -9e15, toExpPos: 9e15 });
    const dice = random(runSeed());
    const others = ['0', '1', '-1', '123456789012345678901', '0.00000000000000000001'];
    const edges = [
      '-0',
      '-0.0',
      '0e5',
      '1e-400',
      '-1e-1000000',
      '9e308',
      '1e30',
      '1e31',
      `0.${'0'.repeat(397)}1`,
    ];
    const drawn = Array.from({ length: 1_500 }, () => {
      const text = `${dice.chance(0.3) ? '-' : ''}${digits(dice, 40)}${dice.chance(0.7) ? `.${digits(dice, 40)}` : ''}`;
      return dice.chance(0.3) ? `${text}e${dice.below(120) - 60}` : text;
    });
    for (const text of [...edges, ...drawn]) {
      const value = parseDecimal(text)!;
      const expected = new Exact(text);
      const plain = expected.toFixed().replace(/^-0$/, '0');
      expect(formatDecimal(value), text).to.equal(plain);
      expect([isPositive(value), isWhole(value)], text).to.deep.equal([
        expected.greaterThan(0),
        expected.isInteger(),
      ]);
      for (const scale of [0, 9, 30]) {
        const down = BigInt(expected.toFixed(scale, DecimalJs.ROUND_DOWN).replace('.', ''));
        expect(toScaledDown(value, scale), `${text} ${scale}`).to.equal(down);
        expect(toScaled(value, scale), `${text} ${scale}`).to.equal(
          expected.decimalPlaces() <= scale ? down : undefined,
        );
      }
      for (const other of others)
        expect(Math.sign(compareWith(value, other)), `${text} ? ${other}`).to.equal(
          new Exact(text).comparedTo(other),
        );
      const grid = gridOf(text);
      const isGrid = expected.greaterThan(0) && expected.decimalPlaces() <= 30 && expected.e <= 30;
      expect(grid === undefined ? undefined : formatCount(1n, grid), text).to.equal(
        isGrid ? plain : undefined,
      );
      if (plain.length < 200) {
        expect(multiplyExactly(plain, '-1.25'), text).to.equal(
          new Exact(plain).times('-1.25').toFixed().replace(/^-0$/, '0'),
        );
        expect(halfExactly(plain), text).to.equal(
          new Exact(plain).times('0.5').toFixed().replace(/^-0$/, '0'),
        );
      }
    }
    for (const text of [
      '1e309',
      `1${'0'.repeat(309)}`,
      '-1e309',
      '1e-1000001',
      '1e999999999',
      '1e9999999999',
    ])
      expect(parseDecimal(text), text).to.equal(undefined);
  });

  it('are rejected when the text is no decimal', () => {
    for (const text of [
      '',
      '.',
      '-',
      '1.2.3',
      '1,5',
      ' 1',
      '1 ',
      '+1',
      '0x10',
      '1e',
      'e5',
      '١',
      'NaN',
      '1_000',
    ]) {
      expect(parseDecimal(text), text).to.equal(undefined);
    }
    for (const text of ['.5', '5.', '-1', '1e3', '-0.0', '.5e-3']) {
      expect(parseDecimal(text), text).to.not.equal(undefined);
    }
  });

  it('are written without trailing zeros, from small and large integers alike', () => {
    const dice = random(runSeed());
    const edges = [0n, 1n, 10n, -1n, 2n ** 53n - 1n, 2n ** 53n, 10n ** 18n, -(10n ** 18n)];
    const drawn = Array.from({ length: 2_000 }, () => BigInt(digits(dice, 20)));
    for (const integer of [...edges, ...drawn]) {
      for (const scale of [0, 1, 2, 6, 9, 18]) {
        const expected = writeDecimal(integer * 10n ** BigInt(18 - scale));
        expect(formatScaled(integer, scale), `${integer} ${scale}`).to.equal(expected);
      }
    }
  });

  it('multiply and sum to exact amounts', () => {
    const dice = random(runSeed());
    for (let round = 0; round < 500; round += 1) {
      const priced = Array.from({ length: dice.below(6) }, () => ({
        atoms: BigInt(digits(dice, 19)),
        scale: dice.below(10),
        price: dice.pick(['0', '1', '0.5', '2000.05', '0.00000001', String(dice.below(10 ** 9))]),
      }));
      const units = priced.map(({ atoms, scale, price }) => (atoms * unitsOf(price)) / 10n ** BigInt(scale));
      expect(sumOfProducts(priced)).to.equal(writeDecimal(units.reduce((sum, one) => sum + one, 0n)));
    }
  });

  it('are written alike from digits and from an integer', () => {
    const dice = random(runSeed());
    for (let round = 0; round < 2_000; round += 1) {
      const one = BigInt(digits(dice, 19));
      const other = BigInt(digits(dice, 19));
      for (const grid of GRIDS) expect(formatCount(String(one), grid)).to.equal(formatCount(one, grid));
      expect(String(subtract(String(one), String(other)))).to.equal(String(one - other));
    }
  });
});
