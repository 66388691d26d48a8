/** The tables of a run: the engine's memory beside live state, and reads beside the size of the history. */

import { PLAIN } from '../../../src/terminal/paint.ts';
import { column, formatCounted, renderTable } from '../../../src/terminal/table.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Reads } from './live-state.ts';

const MIB = 1024 * 1024;
/**
 * A read whose pages grow by more than this ratio, against the first size at which it returned as much, needs another
 * design. Each level that an index grows by adds a page to each descent, which doubles a read of two pages: growth by a
 * few pages is none.
 */
const MAX_RATIO = 1.5;
const FEW_PAGES = 10;

export interface Measured {
  readonly orders: number;
  readonly reads: Reads;
}

const mib = (bytes: number): string => (bytes / MIB).toFixed(1);

export function memoryTable(checkpoints: readonly Checkpoint[]): string {
  const columns = [
    column('orders', 'right'),
    column('events', 'right'),
    column('live orders', 'right'),
    column('used MiB', 'right'),
    column('data MiB', 'right'),
    column('filter MiB', 'right'),
    column('bytes a live order', 'right'),
    column('look-ups', 'right'),
    column('tail before the rest', 'right'),
    column('ledger bytes an order', 'right'),
    column('violations', 'right'),
  ];
  const rows = checkpoints.map(({ kinds, tail, ...one }) => {
    const live = kinds['live orders']?.entries ?? 0;
    const filterBytes = kinds['claim filter']?.bytes ?? 0;
    return [
      formatCounted(one.orders),
      formatCounted(one.events),
      formatCounted(live),
      mib(one.usedBytes),
      mib(one.datasetBytes),
      mib(filterBytes),
      live === 0 ? '-' : formatCounted(Math.round((one.datasetBytes - filterBytes) / live)),
      `${(one.falsePositiveRatio * 100).toFixed(2)} %`,
      tail.map(({ entries }) => formatCounted(entries)).join(' / '),
      formatCounted(Math.round(one.databaseBytes / one.orders)),
      formatCounted(one.violations.length),
    ];
  });
  return renderTable(columns, rows, PLAIN);
}

/** One figure of one read at each size, and the number of items that it returned; undefined where it was not taken. */
interface Series {
  readonly name: string;
  readonly found: readonly (number | undefined)[];
  readonly figures: readonly (number | undefined)[];
}

/** @returns the figure at the first size at which the read returned as much as at the last one, if there was another */
function firstAlike({ found, figures }: Series): number | undefined {
  const first = found.indexOf(found.at(-1));
  return first === found.length - 1 ? undefined : figures[first];
}

/** @returns the last figure over the first one of as much; undefined when none was taken */
export function ratioOf(series: Series): number | undefined {
  const first = firstAlike(series);
  const last = series.figures.at(-1);
  return first === undefined || last === undefined || first === 0 ? undefined : last / first;
}

/** @returns true for pages of Postgres that grew by more than the design allows */
export const isGrown = (series: Series): boolean =>
  (ratioOf(series) ?? 0) > MAX_RATIO && series.figures.at(-1)! - firstAlike(series)! > FEW_PAGES;

function seriesOf(measured: readonly Measured[]): Series[] {
  const plans = measured.at(-1)?.reads.plans ?? [];
  return plans.map(({ name }) => {
    const found = measured.map(({ reads }) => reads.plans.find((plan) => plan.name === name));
    return { name, found: found.map((plan) => plan?.found), figures: found.map((plan) => plan?.buffers) };
  });
}

function apiSeriesOf(measured: readonly Measured[]): Series[] {
  const api = measured.at(-1)?.reads.api ?? [];
  return api.map(({ name }) => {
    const found = measured.map(({ reads }) => reads.api.find((read) => read.name === name));
    return { name, found: found.map((read) => read?.items), figures: found.map((read) => read?.ms) };
  });
}

function ratioText(series: Series): string {
  const ratio = ratioOf(series);
  return ratio === undefined ? '-' : `${ratio.toFixed(2)}x`;
}

function seriesTable(
  measured: readonly Measured[],
  title: string,
  series: readonly Series[],
  text: (figure: number) => string,
): string {
  const columns = [
    column(title),
    ...measured.map(({ orders }) => column(formatCounted(orders), 'right')),
    column('ratio', 'right'),
  ];
  const rows = series.map((one) => [
    one.name,
    ...one.figures.map((figure, at) =>
      figure === undefined ? '-' : `${text(figure)} (${formatCounted(one.found[at] ?? 0)})`,
    ),
    ratioText(one),
  ]);
  return renderTable(columns, rows, PLAIN);
}

/**
 * Buffers of Postgres and milliseconds at the api for each read, with the number of items that it returned. The ratio
 * is against the first size at which the read returned as many items as at the last one.
 */
export const growthTable = (measured: readonly Measured[]): string =>
  [
    seriesTable(measured, 'buffers of 8 KiB in Postgres', seriesOf(measured), formatCounted),
    seriesTable(measured, 'ms at the api', apiSeriesOf(measured), (ms) => ms.toFixed(1)),
  ].join('\n');

/** Reads whose pages in Postgres grew by more than the design allows. */
export const grownReads = (measured: readonly Measured[]): string[] =>
  seriesOf(measured)
    .filter(isGrown)
    .map(({ name }) => name);
