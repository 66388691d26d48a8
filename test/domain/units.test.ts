/** Compares the separate code paths of short and long decimals with each other, and both with fractions of integers. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { build } from 'esbuild';
import * as units from '../../src/domain/units.ts';
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
import { STAND_INS } from '../../src/web/bundle.mjs';
import { unitsOf, writeDecimal } from '../proofs/equivalence/decimals.ts';
import { type Random, random, runSeed } from '../support/seed.ts';

const GRIDS = ['1', '0.01', '0.0001', '0.25', '5', '0.000000001', '1e-12', '3e7', '1e-20'].map(
  (text) => gridOf(text)!,
);

const digits = (dice: Random, max: number): string =>
  Array.from({ length: 1 + dice.below(max) }, () => dice.pick([...'0000123456789'])).join('');

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

const EDGES = [
  ...[
    '-0',
    '-0.0',
    '0e5',
    '-0e-999999999',
    '1e-400',
    '-1e-100000',
    '9e308',
    '-9.99e308',
    '1e30',
    '1e31',
    '10e-31',
  ],
  `0.${'0'.repeat(397)}1`,
];
const UNREAD = ['1e309', `1${'0'.repeat(309)}`, '-1e309', '1e-1000001', '1e999999999', '1e9999999999'];

/** A number, coefficient / 10^places, in lowest terms. */
interface Fraction {
  readonly coefficient: bigint;
  readonly places: number;
}

/** Reads a decimal by integers alone. */
function fractionIn(text: string): Fraction {
  const [digits = '', exponent = '0'] = text.split('e');
  const [whole, decimals = ''] = digits.split('.');
  let coefficient = BigInt(`${whole}${decimals}`);
  if (coefficient === 0n) return { coefficient, places: 0 };
  let places = decimals.length - Number(exponent);
  for (; places > 0 && coefficient % 10n === 0n; places -= 1) coefficient /= 10n;
  return places >= 0
    ? { coefficient, places }
    : { coefficient: coefficient * 10n ** BigInt(-places), places: 0 };
}

function plainTextOf({ coefficient, places }: Fraction): string {
  if (coefficient < 0n) return `-${plainTextOf({ coefficient: -coefficient, places })}`;
  const digits = String(coefficient).padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

const product = (one: Fraction, other: Fraction): string => {
  const coefficient = one.coefficient * other.coefficient;
  return plainTextOf(fractionIn(`${coefficient}e-${one.places + other.places}`));
};

const compared = (one: Fraction, other: Fraction): number => {
  const left = one.coefficient * 10n ** BigInt(other.places);
  const right = other.coefficient * 10n ** BigInt(one.places);
  return left < right ? -1 : left > right ? 1 : 0;
};

const longText = (dice: Random): string => {
  const text = `${dice.chance(0.3) ? '-' : ''}${digits(dice, 40)}${dice.chance(0.7) ? `.${digits(dice, 40)}` : ''}`;
  return dice.chance(0.3) ? `${text}e${dice.below(120) - 60}` : text;
};

/** Compares what a build of units makes of long decimals with fractions of integers. */
function readsExactly(built: typeof units): void {
  const dice = random(runSeed());
  const others = ['0', '1', '-1', '50', '123456789012345678901', '0.00000000000000000001'];
  for (const text of [...EDGES, ...Array.from({ length: 1_500 }, () => longText(dice))]) {
    const value = built.parseDecimal(text)!;
    const expected = fractionIn(text);
    const plain = plainTextOf(expected);
    expect(built.formatDecimal(value), text).to.equal(plain);
    expect([built.isPositive(value), built.isNegative(value), built.isWhole(value)], text).to.deep.equal([
      expected.coefficient > 0n,
      expected.coefficient < 0n,
      expected.places === 0,
    ]);
    for (const scale of [0, 9, 30]) {
      const down = (expected.coefficient * 10n ** BigInt(scale)) / 10n ** BigInt(expected.places);
      expect(built.toScaledDown(value, scale), `${text} ${scale}`).to.equal(down);
      expect(built.toScaled(value, scale), `${text} ${scale}`).to.equal(
        expected.places <= scale ? down : undefined,
      );
    }
    for (const other of others)
      expect(Math.sign(built.compareWith(value, other)), `${text} ? ${other}`).to.equal(
        compared(expected, fractionIn(other)),
      );
    const grid = built.gridOf(text);
    const isGrid =
      expected.coefficient > 0n && expected.places <= 30 && compared(expected, fractionIn('1e31')) < 0;
    expect(grid === undefined ? undefined : built.formatGrid(grid), text).to.equal(
      isGrid ? plain : undefined,
    );
    if (plain.length >= 200) continue;
    expect(built.multiplyExactly(plain, '-1.25'), text).to.equal(product(expected, fractionIn('-1.25')));
    expect(built.halfExactly(plain), text).to.equal(product(expected, fractionIn('0.5')));
  }
  expect(built.isNegative(built.parseDecimal('-1e-1000000')!)).to.equal(true);
  for (const text of UNREAD) expect(built.parseDecimal(text), text).to.equal(undefined);
}

/** Pairs of short decimals at the bounds of doubles, and how the first compares with the second. */
const COMPARED = [
  ['999999999999999', '0.0000000000001', 1],
  ['999999999999999', '999999999999998', 1],
  ['99999999999999.9', '99999999999999.8', 1],
  ['9999999999999.9', '9999999999999.90', 0],
  ['0.0000000000001', '0.0000000000002', -1],
  ['900719925474099', '9007199.2547409', 1],
  ['0', '0.000', 0],
] as const;

describe('decimals', () => {
  it('with few digits are compared exactly', () => {
    for (const [one, other, expected] of COMPARED)
      for (const [left, right, sign] of [[one, other, expected] as const, [other, one, -expected] as const])
        expect(Math.sign(compareWith(parseDecimal(left)!, right)) + 0, `${left} ? ${right}`).to.equal(
          sign + 0,
        );
  });

  it('with few digits equal those that are read as long ones', () => {
    const dice = random(runSeed());
    const edges = ['0', '00', '0.0', '999999999999999', '9999999999999999', '0.0000000000001', '10.00'];
    for (const text of [...edges, ...Array.from({ length: 2_000 }, () => decimalText(dice))]) {
      // With an exponent, the text is read as a long decimal.
      expect(readings(parseDecimal(text)!), text).to.deep.equal(readings(parseDecimal(`${text}e0`)!));
    }
  });

  it('with many digits, signs and exponents equal fractions of integers', () => readsExactly(units));

  it('are read alike by the package that the page has in place of decimal.js', async () => {
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL('../../src/domain/units.ts', import.meta.url))],
      bundle: true,
      format: 'esm',
      alias: STAND_INS,
      write: false,
    });
    const { text } = outputFiles[0]!;
    expect(text).to.include('decimal.js-light');
    readsExactly(await import(`data:text/javascript,${encodeURIComponent(text)}`));
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
