/** The tables of the bench: each measured figure, its reference, its target and the verdict. */

import { PLAIN } from '../../../src/terminal/paint.ts';
import { column, renderTable } from '../../../src/terminal/table.ts';

interface Target {
  readonly relation: '<=' | '>=';
  readonly bound: number;
  /** True if the target is only reported: missing it does not fail the bench. */
  readonly isReported?: boolean;
}

/** A row without its verdict. */
export interface Measured {
  readonly name: string;
  readonly unit: string;
  /** null if not measured. */
  readonly figure: number | null;
  /** Divisor of the figure, measured in the same run and in the same unit. */
  readonly reference?: { readonly name: string; readonly figure: number | null };
  /** Bound of the ratio if there is a reference, else of the figure. */
  readonly target?: Target;
  /** Reason why nothing was measured, or a remark on the figure. */
  readonly note?: string;
}

type Verdict = 'held' | 'not held' | 'reported' | 'not measured' | null;

/** A row as `--json` writes it. */
export interface Row extends Measured {
  readonly ratio: number | null;
  /** null if the row has no target. */
  readonly verdict: Verdict;
}

export interface Table {
  readonly name: string;
  readonly title: string;
  readonly rows: readonly Row[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function verdictOf(judged: number | null, target: Target | undefined): Verdict {
  if (judged === null) return 'not measured';
  if (target === undefined) return null;
  if (target.isReported) return 'reported';
  const isHeld = target.relation === '<=' ? judged <= target.bound : judged >= target.bound;
  return isHeld ? 'held' : 'not held';
}

export function judge(measured: Measured): Row {
  const { figure, reference, target } = measured;
  const ratio = figure === null || reference?.figure == null ? null : figure / reference.figure;
  return { ...measured, ratio, verdict: verdictOf(reference === undefined ? figure : ratio, target) };
}

/** True unless a row that is judged misses its target or was not measured. */
export const isHeld = ({ target, verdict }: Row): boolean =>
  target === undefined || target.isReported === true || verdict === 'held';

export const tableOf = (name: string, title: string, rows: readonly Measured[]): Table => ({
  name,
  title,
  rows: rows.map(judge),
});

/** Formats three significant digits, and always all digits before the decimal point. */
function formatFigure(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 10 ? 1 : 2);
}

const withUnit = (value: number | null, unit: string): string =>
  value === null ? '-' : `${formatFigure(value)} ${unit}`.trimEnd();

function targetText({ reference, target }: Row): string {
  if (target === undefined) return '';
  return `${target.relation} ${target.bound.toLocaleString('en-US')}${reference === undefined ? '' : 'x'}`;
}

/** @returns the lines of the table as plain text */
export function renderFigures({ name, title, rows }: Table): string {
  const columns = [
    column(''),
    column('figure', 'right'),
    column('reference', 'right'),
    column('of'),
    column('ratio', 'right'),
    column('target', 'right'),
    column(''),
    column(''),
  ];
  const cells = rows.map((row) => [
    row.name,
    withUnit(row.figure, row.unit),
    ...(row.reference === undefined
      ? ['', '']
      : [withUnit(row.reference.figure, row.unit), row.reference.name]),
    row.ratio === null ? '' : `${row.ratio.toFixed(2)}x`,
    targetText(row),
    row.verdict === 'not held' ? 'NOT HELD' : (row.verdict ?? ''),
    row.note ?? '',
  ]);
  return `\n${name}: ${title}\n\n${renderTable(columns, cells, PLAIN)}`;
}
