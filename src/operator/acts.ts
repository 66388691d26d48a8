/** Takes author and reason of a change from the command line, and lists the changes that operators made. */

import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { type Act, NO_REASON } from '../domain/act.ts';
import { actsReport } from '../statements/acts.ts';
import { readOperator, readReason, readTimeMs, readWallet } from './arguments.ts';
import { addReport } from './print-report.ts';
import type { RunCommand } from './verb.ts';

export interface ActOptions {
  by?: string | undefined;
  reason?: string | undefined;
}

/** Adds the options of a command that changes something. */
export const withAct = (command: Command): Command =>
  command
    .option('--by <name>', "name of who does this (default: the system's user)", readOperator)
    .option('--reason <text>', `reason that acts show later (default: ${NO_REASON})`, readReason);

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that its system has no name for.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export const actOf = ({ by = systemUser(), reason = NO_REASON }: ActOptions): Act => ({ by, reason });

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
