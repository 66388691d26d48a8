/** The reports that the desk offers: the operation of each, and the command that prints the same. */

import type { Operation } from '../../operator/operation.ts';
import type { Given } from './operators.ts';

/** Days like 2026-01-31, or times. The end is exclusive. */
export interface ReportSpan {
  readonly from: string;
  readonly to: string;
}

export interface OfferedReport {
  readonly title: string;
  readonly operation: string;
  /** Begins the name of the file. */
  readonly name: string;
  readonly formats: readonly string[];
  /** Members of the query without the format. */
  readonly given: (span: ReportSpan) => Given<Operation>;
  /** Words of the command without the format. */
  readonly command: (span: ReportSpan) => string;
  /** True: there is one format, which the query does not name. */
  readonly isPlain?: true;
}

const BOTH = ['csv', 'json'];
const BY = 'day,market';
const ofSpan = ({ from, to }: ReportSpan): string => `--from ${from} --to ${to}`;
const movementsOf = (side: 'deposit' | 'withdrawal', title: string): OfferedReport => ({
  title,
  operation: 'listMovements',
  name: `${side}s`,
  formats: BOTH,
  given: (span) => ({ ...span, side }),
  command: (span) => `ledger movements ${ofSpan(span)} --side ${side}`,
});

export const REPORTS: readonly OfferedReport[] = [
  {
    title: 'Balances of all accounts at the end',
    operation: 'listBalances',
    name: 'balances',
    formats: BOTH,
    given: ({ to }) => ({ asOf: to }),
    command: ({ to }) => `ledger balances --as-of ${to}`,
  },
  {
    title: 'Fees by day and market',
    operation: 'sumFees',
    name: 'fees',
    formats: BOTH,
    given: (span) => ({ ...span, by: BY }),
    command: (span) => `ledger fees ${ofSpan(span)} --by ${BY}`,
  },
  {
    title: 'Volumes by day and market',
    operation: 'sumVolumes',
    name: 'volumes',
    formats: BOTH,
    given: (span) => ({ ...span, by: BY }),
    command: (span) => `ledger volumes ${ofSpan(span)} --by ${BY}`,
  },
  {
    title: 'Deposits and withdrawals',
    operation: 'listMovements',
    name: 'movements',
    formats: BOTH,
    given: (span) => ({ ...span }),
    command: (span) => `ledger movements ${ofSpan(span)}`,
  },
  movementsOf('deposit', 'Deposits alone, with their steps'),
  movementsOf('withdrawal', 'Withdrawals alone, with their steps'),
  {
    title: 'Acts of operators and keys',
    operation: 'listActs',
    name: 'acts',
    // As JSON, the route has pages.
    formats: ['csv'],
    given: ({ from, to }) => ({ since: from, until: to }),
    command: ({ from, to }) => `acts --since ${from} --until ${to}`,
  },
  {
    title: 'Entries of the ledger',
    operation: 'exportEntries',
    name: 'entries',
    formats: BOTH,
    given: (span) => ({ ...span }),
    command: (span) => `ledger export ${ofSpan(span)}`,
  },
  {
    title: 'All closed months',
    operation: 'listClosings',
    name: 'closings',
    formats: ['json'],
    given: () => ({}),
    command: () => 'ledger closings',
    isPlain: true,
  },
];

/** Returns the report of the statement of a wallet. */
export const statementOf = (wallet: string): OfferedReport => ({
  title: 'Statement',
  operation: 'getWalletStatement',
  name: `statement-${wallet}`,
  // As JSON, the route has pages.
  formats: ['csv', 'koinly', 'cointracking', 'hledger'],
  given: (span) => ({ ...span, wallet }),
  command: (span) => `ledger statement ${ofSpan(span)} --wallet ${wallet}`,
});

const EXTENSIONS: Readonly<Record<string, string>> = { json: 'json', hledger: 'journal' };

/** Returns the name of the file of a report. */
export function fileOf({ name }: OfferedReport, { from, to }: ReportSpan, format: string): string {
  const program = ['koinly', 'cointracking', 'hledger'].includes(format) ? `-${format}` : '';
  return `${name}${program}-${from}-${to}.${EXTENSIONS[format] ?? 'csv'}`;
}

/** Returns the command that writes the same file. */
export function commandOf(report: OfferedReport, span: ReportSpan, format: string): string {
  const names = report.operation === 'getWalletStatement' || report.operation === 'exportEntries';
  const as = names && format !== 'json' ? `--format ${format}` : `--${format}`;
  return `redbook ${report.command(span)} ${as} > ${fileOf(report, span, format)}`;
}
