/** Figures that the page writes are read back as themselves, or refused, in the style of each locale. */

import { expect } from 'chai';
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
});
