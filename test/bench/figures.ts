/** Medians, and a table of target and figure. */

export interface Figure {
  readonly name: string;
  readonly figure: number;
  readonly unit: string;
  /** What it is held against; absent: for information. */
  readonly target?: { readonly relation: '<=' | '>='; readonly bound: number };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const isHeld = ({ figure, target }: Figure): boolean =>
  target === undefined || (target.relation === '<=' ? figure <= target.bound : figure >= target.bound);

export function printFigures(title: string, figures: readonly Figure[]): void {
  const rows = figures.map((one) => [
    one.name,
    `${one.figure.toFixed(one.figure < 10 ? 2 : 1)} ${one.unit}`.trimEnd(),
    one.target === undefined ? '' : `${one.target.relation} ${one.target.bound}`,
    one.target === undefined ? '' : isHeld(one) ? 'held' : 'NOT HELD',
  ]);
  const heads = ['', 'median', 'target', ''];
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]!.length)));
  console.log(`\n${title}`);
  for (const row of [heads, ...rows]) {
    console.log(
      `  ${row.map((cell, at) => (at === 1 ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))).join('  ')}`,
    );
  }
}
