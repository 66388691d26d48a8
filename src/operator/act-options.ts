/** Takes author and reason of a change from the command line. */

import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { type Act, NO_REASON } from '../domain/act.ts';
import { readOperator, readReason } from './arguments.ts';

export interface ActOptions {
  by?: string | undefined;
  reason?: string | undefined;
}

const REASON = '--reason <text>';

/** Adds the options of a command that changes something. */
export function withAct(command: Command, needsReason = false): Command {
  command.option('--by <name>', "name of who does this (default: the system's user)", readOperator);
  return needsReason
    ? command.requiredOption(REASON, 'reason that acts show later', readReason)
    : command.option(REASON, `reason that acts show later (default: ${NO_REASON})`, readReason);
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that its system has no name for.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export const actOf = ({ by = systemUser(), reason = NO_REASON }: ActOptions): Act => ({ by, reason });
