/** Figures that the page writes are read back as themselves, or refused, in every locale of ICU. */

import { expect } from 'chai';
import { misreadOf } from '../../web/figures-of-locale.ts';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const PAIRS = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));

const SCRIPTS = [
  'Adlm',
  'Arab',
  'Beng',
  'Cyrl',
  'Deva',
  'Guru',
  'Hans',
  'Hant',
  'Latn',
  'Olck',
  'Orya',
  'Telu',
];

/** Returns each way of writing digits in countries that group and point in different ways. */
const inAllDigits = (): string[] =>
  Intl.supportedValuesOf('numberingSystem').flatMap((digits) =>
    ['en', 'en-IN', 'de', 'fr'].map((locale) => `${locale}-u-nu-${digits}`),
  );

/** Returns every locale that this Node has data of: each language, and each with each region and script. */
function localesOfIcu(): string[] {
  const triples = PAIRS.flatMap((pair) => LETTERS.map((third) => pair + third));
  const languages = Intl.NumberFormat.supportedLocalesOf([...PAIRS, ...triples]).filter(
    (tag) => !tag.includes('-'),
  );
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const regions = PAIRS.map((pair) => pair.toUpperCase()).filter((region) => names.of(region) !== undefined);
  const isKnown = (tag: string): boolean => new Intl.NumberFormat(tag).resolvedOptions().locale === tag;
  return languages.flatMap((language) => [
    language,
    ...[...regions, ...SCRIPTS, '001', '419'].map((region) => `${language}-${region}`).filter(isKnown),
  ]);
}

describe('figures of the page in every locale', () => {
  it('are read back as themselves, or refused', () => {
    const locales = localesOfIcu();
    expect(locales).to.have.length.above(600);
    expect(locales).to.include.members(['de-CH', 'pt-PT', 'en-IN', 'ar-EG', 'es-MX', 'fa', 'ff-Adlm']);
    expect([...locales, ...inAllDigits()].flatMap(misreadOf)).to.deep.equal([]);
  }).timeout(120_000);
});
