/** Renders tables for people: aligned columns, exact numbers, and no characters that command a terminal. */

import { shown } from '../domain/text.ts';
import type { Paint } from './paint.ts';

export interface Column {
  readonly title: string;
  /** `point`: the decimal points stand under each other. */
  readonly align: 'left' | 'right' | 'point';
}

export const column = (title: string, align: Column['align'] = 'left'): Column => ({ title, align });

const GAP = '  ';
const width = (text: string): number => [...text].length;
const pad = (text: string, to: number): string => ' '.repeat(Math.max(0, to - width(text)));

const fractionOf = (text: string): string => {
  const point = text.indexOf('.');
  return point < 0 ? '' : text.slice(point);
};

/** Returns the cells of one column, padded to one width. */
function align({ align, title }: Column, cells: readonly string[]): string[] {
  const longestFraction =
    align === 'point' ? Math.max(0, ...cells.map((cell) => width(fractionOf(cell)))) : 0;
  const padded = cells.map((cell) =>
    align === 'point' ? cell + pad(fractionOf(cell), longestFraction) : cell,
  );
  const widest = Math.max(width(title), ...padded.map(width));
  return [title, ...padded].map((cell) =>
    align === 'left' ? cell + pad(cell, widest) : pad(cell, widest) + cell,
  );
}

/** Returns the lines of a table; `none` for a table without rows. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  paint: Paint,
  none = '(none)',
): string {
  if (rows.length === 0) return `${paint('dim', none)}\n`;
  const aligned = columns.map((column, index) =>
    align(
      column,
      rows.map((row) => shown(row[index] ?? '')),
    ),
  );
  const lines = [undefined, ...rows].map((_row, line) =>
    aligned
      .map((cells) => cells[line])
      .join(GAP)
      .trimEnd(),
  );
  return `${[paint('bold', lines[0]!), ...lines.slice(1)].join('\n')}\n`;
}

/** Lines of `name  value`. */
export function renderFacts(
  facts: readonly (readonly [name: string, value: string])[],
  paint: Paint,
): string {
  const widest = Math.max(...facts.map(([name]) => width(name)));
  return facts
    .map(([name, value]) => `${paint('dim', name + pad(name, widest))}${GAP}${shown(value)}\n`)
    .join('');
}

/** Formats a count with separators, like 1,234,567. Amounts are never formatted so. */
export const formatCounted = (count: number): string => count.toLocaleString('en-US');
