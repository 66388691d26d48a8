/** Writes decimals with the groups of digits and the decimal sign of a country. No digit is rounded or left out. */

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?!\d)/;

/** Latin digits, so that the figures of a column stay alike. */
const LATIN = { numberingSystem: 'latn' } as const;

export const decimalSignOf = (locale?: string): string =>
  new Intl.NumberFormat(locale, LATIN).formatToParts(0.5).find(({ type }) => type === 'decimal')!.value;

/**
 * Returns a function that writes a plain decimal as a country does. Text after the decimal, such as a unit, stays; text
 * that begins with no decimal stays as it is.
 * @param locale by default that of the browser
 */
export function digitGrouping(locale?: string): (text: string) => string {
  const format = new Intl.NumberFormat(locale, LATIN);
  const sign = decimalSignOf(locale);
  const written = (_all: string, minus: string, whole: string, fraction: string | undefined): string =>
    minus + format.format(BigInt(whole)) + (fraction === undefined ? '' : sign + fraction);
  return (text) => text.replace(DECIMAL, written);
}
