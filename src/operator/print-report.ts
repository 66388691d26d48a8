/** Prints reports: as a table for people, as CSV or as JSON. */

import type { Command } from 'commander';
import {
  type Report,
  type ReportAs,
  type ReportColumn,
  type ReportFormat,
  reportText,
  titleOf,
} from '../statements/report.ts';
import { column, renderTable } from '../terminal/table.ts';
import { readTimeMs } from './arguments.ts';
import type { OperatorServices } from './services.ts';
import { paintFor, type Terminal, write } from './terminal.ts';
import type { WorkingVerb } from './verb.ts';

/** Rows that are aligned together, so that a report of any length needs no memory. */
const ALIGNED_ROWS = 500;

const columnOf = (one: ReportColumn) => column(titleOf(one), one.isAmount ? 'point' : 'left');

async function printTable(report: Report, { out }: Terminal): Promise<void> {
  const paint = paintFor(out);
  const columns = report.columns.map(columnOf);
  let printed = 0;
  let rows: string[][] = [];
  const flush = async (): Promise<void> => {
    if (rows.length > 0 || printed === 0) await write(out, renderTable(columns, rows, paint));
    printed += rows.length;
    rows = [];
  };
  for await (const cells of report.rows) {
    rows.push(cells.map((cell) => String(cell ?? '')));
    if (rows.length === ALIGNED_ROWS) await flush();
  }
  if (rows.length > 0 || printed === 0) await flush();
  for (const [name, lines] of Object.entries(report.totals?.() ?? {})) {
    await write(
      out,
      `\n${paint('bold', titleOf({ name }).toLowerCase())}\n${objectsTable(lines as object[], paint)}`,
    );
  }
}

/** Returns a table of objects with equal members. */
function objectsTable(lines: readonly object[], paint: ReturnType<typeof paintFor>): string {
  const [first = {}, ...rest] = Object.keys(lines[0] ?? {});
  const columns = [
    column(String(first).toUpperCase()),
    ...rest.map((name) => column(name.toUpperCase(), 'point')),
  ];
  return renderTable(
    columns,
    lines.map((line) => Object.values(line).map(String)),
    paint,
  );
}

/** Prints a report in a format; `table` is for people. */
export async function printReport(
  report: Report,
  { format, ...as }: Omit<ReportAs, 'format'> & { readonly format: ReportFormat | 'table' },
  terminal: Terminal,
): Promise<void> {
  if (format === 'table') return printTable(report, terminal);
  await printText(reportText(report, { ...as, format }), terminal);
}

export async function printText(text: AsyncIterable<string>, { out }: Terminal): Promise<void> {
  for await (const chunk of text) await write(out, chunk);
}

export const CSV_HELP = `
In CSV, an apostrophe stands in front of a text that a spreadsheet would run as a formula or read as a number or a date,
and of one that begins with an apostrophe. An importer drops the first apostrophe of each cell that begins with one.
Amounts, days and times are never changed; --json has every text as it is.`;

export interface CsvOptions {
  csv?: true;
  bom?: true;
}

export const withCsv = (command: Command): Command =>
  command
    .option('--csv', 'print CSV')
    .option('--bom', 'print CSV with a byte order mark, by which spreadsheets know that it is UTF-8')
    .addHelpText('after', CSV_HELP);

/** Returns a verb that prints a report of any length. */
export const reportVerb = <Options extends object>(
  verb: string,
  describe: (command: Command) => Command,
  make: (services: OperatorServices, options: Options) => Promise<Report>,
): WorkingVerb => ({
  verb,
  describe: (command) => withCsv(describe(command)),
  work:
    (options: Options & CsvOptions) =>
    async (services, { terminal, json }) => {
      const { csv, bom } = options;
      const format = json ? 'json' : csv || bom ? 'csv' : 'table';
      const isResumed = 'after' in options;
      await printReport(await make(services, options), { format, mark: bom, isResumed }, terminal);
      return undefined;
    },
});

/** A span of time, in Unix milliseconds. */
export interface Span {
  from: number;
  to: number;
}
export const spanOf = ({ from, to }: Span) => ({ fromMs: from, toMs: to });

export const withSpan = (command: Command): Command =>
  command
    .requiredOption(
      '--from <time>',
      'start time, inclusive, like 2026-01-01 (UTC) or 2026-01-01T12:00:00Z',
      readTimeMs,
    )
    .requiredOption('--to <time>', 'end time, exclusive', readTimeMs)
    .hook('preAction', (_, asked) => {
      const { from, to } = asked.opts<Span>();
      if (to < from) asked.error('error: --to must not be before --from');
    });
