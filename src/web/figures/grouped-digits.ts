/** Writes decimals with the groups of digits and the decimal sign of a country. No digit is rounded or left out. */

import type { NumberStyle } from './typed-amount.ts';

/** A decimal in a sentence: no part of a symbol, an id or a time. */
const DECIMALS = /(?<![\p{L}\d_.,:])\d+(?:\.\d+)?(?![\p{L}\d_:]|[.,]\d)/gu;

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?!\d)/;

/** Latin digits, so that the figures of a column stay alike. */
const LATIN = { numberingSystem: 'latn' } as const;

/** A number that every country writes with groups and decimals. */
const SAMPLE = 1_234_567.5;

/** Returns the signs of a country. @param locale by default that of the browser */
export function numberStyleOf(locale?: string): NumberStyle {
  const parts = new Intl.NumberFormat(locale, LATIN).formatToParts(SAMPLE);
  const signOf = (wanted: string): string => parts.find(({ type }) => type === wanted)?.value ?? '';
  return { decimal: signOf('decimal'), group: signOf('group') };
}

/**
 * Returns a function that writes a plain decimal as a country does. Text after the decimal, such as a unit, stays; text
 * that begins with no decimal stays as it is.
 * @param locale by default that of the browser
 */
export function digitGrouping(locale?: string): (text: string) => string {
  const format = new Intl.NumberFormat(locale, LATIN);
  const sign = numberStyleOf(locale).decimal;
  const written = (_all: string, minus: string, whole: string, fraction: string | undefined): string =>
    minus + format.format(BigInt(whole)) + (fraction === undefined ? '' : sign + fraction);
  return (text) => text.replace(DECIMAL, written);
}

/**
 * Returns a function that writes the plain decimals of a sentence as a country does.
 * @param locale by default that of the browser
 */
export function groupingWithin(locale?: string): (sentence: string) => string {
  const grouped = digitGrouping(locale);
  return (sentence) => sentence.replace(DECIMALS, (decimal) => grouped(decimal));
}
