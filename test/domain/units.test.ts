/** Short decimals have a path of their own: here it is held against the one of decimal.js. */

import { expect } from 'chai';
import {
  compareWith,
  countOf,
  type Decimal,
  formatCount,
  formatScaled,
  gridOf,
  isPositive,
  isWhole,
  parseDecimal,
  subtract,
  sumOfProducts,
  toInteger,
  toScaled,
  toScaledDown,
} from '../../src/domain/units.ts';
import { unitsOf, writeDecimal } from '../equivalence/decimals.ts';
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
  ...[isPositive(value), isWhole(value), toInteger(value)],
  ...['0', '50', 100, '0.000000001'].map((other) => Math.sign(compareWith(value, other))),
];

describe('decimals', () => {
  it('of few digits are what decimal.js reads in the same digits', () => {
    const dice = random(runSeed());
    const edges = ['0', '00', '0.0', '999999999999999', '9999999999999999', '0.0000000000001', '10.00'];
    for (const text of [...edges, ...Array.from({ length: 2_000 }, () => decimalText(dice))]) {
      // An exponent makes it a text that only decimal.js reads.
      expect(readings(parseDecimal(text)!), text).to.deep.equal(readings(parseDecimal(`${text}e0`)!));
    }
  });

  it('are refused when the text is none', () => {
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

  it('are written without zeros at the end, small integers as large ones', () => {
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

  it('make an exact sum of amounts and their prices', () => {
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

  it('are shown from digits as from the integer', () => {
    const dice = random(runSeed());
    for (let round = 0; round < 2_000; round += 1) {
      const [one, other] = [BigInt(digits(dice, 19)), BigInt(digits(dice, 19))];
      for (const grid of GRIDS) expect(formatCount(String(one), grid)).to.equal(formatCount(one, grid));
      expect(String(subtract(String(one), String(other)))).to.equal(String(one - other));
    }
  });
});
