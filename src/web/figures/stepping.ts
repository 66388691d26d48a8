/** Arrow keys in an amount field: steps to the next multiple of the market's tick or step. */

import { floorCountOf, formatCount, formatDecimal, type Grid, isPositive } from '../../domain/units.ts';
import { type NumberStyle, readAmount } from './typed-amount.ts';

/**
 * Returns the next multiple of the grid above or below an amount, and never less than one unit.
 * @param text as typed; empty text, or text that is no amount, gives `start`
 * @param start where an empty field begins, in units of the grid
 */
export function stepped(
  text: string,
  style: NumberStyle,
  grid: Grid,
  direction: 1 | -1,
  start: bigint,
): string {
  const value = readAmount(text, style);
  if (value === undefined || !isPositive(value)) return formatCount(start > 0n ? start : 1n, grid);
  const floor = floorCountOf(value, grid);
  const isBetween = formatCount(floor, grid) !== formatDecimal(value);
  const next = direction === 1 ? floor + 1n : isBetween ? floor : floor - 1n;
  return formatCount(next > 0n ? next : 1n, grid);
}
