/** Zeros behind a decimal that align the points of a column. They are drawn, and are no part of the text. */

/** Maximum decimals that are filled with zeros. Beyond them the zeros would be wider than the figures. */
const MAX_PLACES = 6;

/**
 * Returns the zeros that a decimal lacks of `places` decimals: `.00` for `2000`, `0` for `2000.5`.
 * @param places decimals of the column's grid
 */
export function missingZeros(decimal: string, places: number): string {
  if (places > MAX_PLACES || places === 0) return '';
  const point = decimal.indexOf('.');
  if (point === -1) return `.${'0'.repeat(places)}`;
  return '0'.repeat(Math.max(0, places - (decimal.length - point - 1)));
}
