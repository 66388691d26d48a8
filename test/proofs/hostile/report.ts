/** Prints the findings, and the last thing that a run prints: its figures and the memory of each process. */

import { PLAIN } from '../../../src/terminal/paint.ts';
import { column, formatCounted, renderTable } from '../../../src/terminal/table.ts';
import type { Report } from './hostile.ts';

const EXAMPLES = 3;

export interface Finding {
  /** Promise that does not hold. */
  readonly check: string;
  /** Subject that all reports of the finding share. */
  readonly kind: string;
  count: number;
  readonly examples: string[];
}

export class Findings {
  readonly #byKind = new Map<string, Finding>();

  /** @param example one case, with what is needed to see it again */
  add(check: string, kind: string, example: string): void {
    const key = `${check}: ${kind}`;
    const known = this.#byKind.get(key);
    if (known === undefined) this.#byKind.set(key, { check, kind, count: 1, examples: [example] });
    else {
      known.count += 1;
      if (known.examples.length < EXAMPLES) known.examples.push(example);
    }
  }

  all(): Finding[] {
    return [...this.#byKind.values()];
  }
}

const INDENT = '    ';

export function textOf(report: Report): string {
  return [figuresTable(report), reachTable(report), memoryTable(report), foundText(report)].join('\n\n');
}

function figuresTable(report: Report): string {
  const { logins, tokens, ordinary, byKind, byStatus } = report;
  const counted = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${formatCounted(count)}`)
      .join(', ');
  const rows: [string, string][] = [
    ['seed', String(report.seed)],
    ['requests', `${formatCounted(report.requests)}: ${counted(byKind)}`],
    ['handshakes', formatCounted(report.handshakes)],
    ['connections held open', formatCounted(report.heldSockets)],
    ['replies by status', counted(byStatus)],
    ['invalid logins', `${formatCounted(logins.invalid)}, of which opened a session: ${logins.sessions}`],
    ['valid logins behind them', formatCounted(logins.valid)],
    ['forged tokens', `${formatCounted(tokens.forged)}, of which were accepted: ${tokens.accepted}`],
    ["comparisons with another wallet's ids", formatCounted(report.foreign)],
    ['attacks played', formatCounted(report.attacks)],
    [
      'ordinary requests meanwhile',
      `${formatCounted(ordinary.requests)}, frames ${formatCounted(ordinary.frames)}`,
    ],
    [
      'secrets searched in logs',
      `${formatCounted(report.secrets)} in ${formatCounted(report.logBytes)} bytes`,
    ],
  ];
  return renderTable([column('figure'), column('value')], rows, PLAIN);
}

function reachTable({ reach }: Report): string {
  const columns = [column('operation'), column('200 or 201', 'right'), column('refused', 'right')];
  const rows = reach.map(({ operation, good, refused }) => [
    operation,
    formatCounted(good),
    formatCounted(refused),
  ]);
  return renderTable(columns, rows, PLAIN);
}

function memoryTable({ memory }: Report): string {
  const columns = [
    column('process'),
    column('held MiB after each round'),
    column('RSS MiB', 'right'),
    column('sockets', 'right'),
    column('files', 'right'),
  ];
  const ends = (values: readonly (number | undefined)[]): string =>
    [values[0], values.at(-1)].map((value) => value?.toFixed(0) ?? '?').join(' → ');
  const rows = memory.map(({ name, rounds }) => [
    name,
    rounds.map(({ heldMib }) => heldMib.toFixed(1)).join(' '),
    ends(rounds.map(({ rssMib }) => rssMib)),
    ends(rounds.map(({ sockets }) => sockets)),
    ends(rounds.map(({ files }) => files)),
  ]);
  return renderTable(columns, rows, PLAIN);
}

function foundText({ findings }: Report): string {
  if (findings.length === 0) return 'Everything held.';
  return findings
    .map(({ check, kind, count, examples }) =>
      [`NOT HELD, ${check}: ${kind} (${count} times)`, ...examples.map((example) => INDENT + example)].join(
        '\n',
      ),
    )
    .join('\n');
}
