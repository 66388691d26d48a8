/** Figures that the page writes are read back as themselves, or refused, in the style of each locale. */

import { expect } from 'chai';
import { groupingWithin } from '../../src/web/figures/grouped-digits.ts';
import { misreadOf } from './figures-of-locale.ts';

/** One locale for each way of writing figures that ICU knows. */
const STYLES = [
  'en',
  'de',
  'de-CH',
  'fr',
  'es',
  'it-CH',
  'hi',
  'ks',
  'ba',
  'lmo',
  'tok',
  'ar-DZ',
  'ee',
  'sq',
];

describe('figures of the page', () => {
  it('are read back as themselves, or refused, in each style of writing them', () => {
    expect(STYLES.flatMap(misreadOf)).to.deep.equal([]);
  });

  it('are written in sentences as in tables, beside symbols, ids and times that stay', () => {
    for (const [sentence, expected] of [
      [
        'Buy 1.999 ETH at 2999.5 USDC or better, until cancelled.',
        'Buy 1,999 ETH at 2.999,5 USDC or better, until cancelled.',
      ],
      ['Impact 0.16 %, worst 1.5 %: high', 'Impact 0,16 %, worst 1,5 %: high'],
      ['Sold 1234567 1INCH at 0.5 on average. +0.57 %', 'Sold 1.234.567 1INCH at 0,5 on average. +0,57 %'],
      [
        'TOKEN1000/USD2000, id a_1000_5.5b, 12:34:56, 0x1000',
        'TOKEN1000/USD2000, id a_1000_5.5b, 12:34:56, 0x1000',
      ],
    ] as const)
      expect(groupingWithin('de')(sentence)).to.equal(expected);
  });
});
