/** The parts that all of the operator's commands share. */

import type { Command } from 'commander';
import type { OperatorRefusal } from '../domain/errors.ts';
import type { Paint } from '../terminal/paint.ts';
import type { OperatorServices } from './services.ts';
import type { Terminal } from './terminal.ts';

export interface CommandResult {
  /** Document for `--json`. Its decimals are strings, which every reader reads exactly. */
  readonly document: object;
  /** Text for people. */
  readonly text: (paint: Paint) => string;
  /** Set when the answer is bad news: the answer is printed, and the command fails. */
  readonly failure?: OperatorRefusal | undefined;
}

interface Invocation {
  readonly terminal: Terminal;
  readonly json: boolean;
}

/**
 * Opens the services, runs the work, prints its answer and closes the services. Work that has written its answer itself
 * returns none.
 */
export type RunCommand = (
  work: (services: OperatorServices, invocation: Invocation) => Promise<CommandResult | undefined>,
) => Promise<void>;

/** Returns an answer of a line or two for people, with its document. */
export const shortResult = (text: string, document: object): CommandResult => ({
  document,
  text: () => `${text}\n`,
});

/** Adds a noun: a command that only has verbs. */
export const addNoun = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description);
