/** Lists the changes that operators made. */

import type { Command } from 'commander';
import { actsReport } from '../statements/acts.ts';
import { readOperator, readTimeMs, readWallet } from './arguments.ts';
import { addReport } from './print-report.ts';
import type { RunCommand } from './verb.ts';

interface ListOptions {
  since?: number;
  by?: string;
  wallet?: string;
  market?: string;
}

export function addActsCommand(program: Command, perform: RunCommand): void {
  const acts = program
    .command('acts')
    .option('--since <time>', 'only from this time on, like 2026-01-01 (UTC)', readTimeMs)
    .option('--by <name>', 'only of this person or key', readOperator)
    .option('--wallet <address>', 'only this wallet', readWallet)
    .option('--market <symbol>', 'only this market')
    .description('list what operators changed, with author, reason, and what there was before');
  addReport<ListOptions>(acts, perform, ({ ledger }, { since, ...filter }) =>
    actsReport(ledger, { ...filter, sinceMs: since }),
  );
}
