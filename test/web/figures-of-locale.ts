/** Reads what the page writes: each kind of figure, in the style of a locale. */

import { formatDecimal } from '../../src/domain/units.ts';
import { digitGrouping, numberStyleOf } from '../../src/web/figures/grouped-digits.ts';
import { readAmount, twoReadings } from '../../src/web/figures/typed-amount.ts';

/** Prices, sizes, sums and balances, with and without groups, around each length of a group. */
const FIGURES = [
  '0',
  '5',
  '0.5',
  '0.123',
  '1.5',
  '1.999',
  '12.345',
  '999.999',
  '1.9999',
  '0.000001',
  '0.00000001',
  '999',
  '1000',
  '1999',
  '9999',
  '10000',
  '123456',
  '999999',
  '1000000',
  '12345678',
  '1234567890123',
  '1234.5',
  '1234.567',
  '12345.6789',
  '1000000.000001',
  '1234567.891',
  '100000.001',
];

/** Returns the figures that are read as other ones, as sentences. A figure may be refused. */
export function misreadOf(locale: string): string[] {
  const grouped = digitGrouping(locale);
  const country = numberStyleOf(locale);
  const plain = { ...country, decimal: '.' };
  const found: string[] = [];
  for (const figure of FIGURES) {
    const inFields = figure.replace('.', country.decimal);
    const readings = [
      ['grouped', grouped(figure), country, false],
      ['in a field', inFields, country, true],
      ['plain', figure, plain, true],
    ] as const;
    for (const [how, text, style, mustRead] of readings) {
      const read = readAmount(text, style);
      const isSame = read !== undefined && formatDecimal(read) === figure;
      const isRefused = read === undefined && (!mustRead || twoReadings(text, style) !== null);
      if (!isSame && !isRefused)
        found.push(`${locale}, ${how}: ${figure} is written ${text} and read ${read && formatDecimal(read)}`);
    }
  }
  return found;
}
