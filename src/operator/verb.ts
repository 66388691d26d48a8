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

/** Work of a command. Work that has written its answer itself returns none. */
export type Work = (services: OperatorServices, invocation: Invocation) => Promise<CommandResult | undefined>;

/** Opens the services, runs the work, prints its answer and closes the services. */
export type RunCommand = (work: Work) => Promise<void>;

export interface Verb {
  readonly verb: string;
  /** The verb of a noun that is given without one. */
  readonly isDefault?: boolean;
  /** The command of an act whose --reason cannot be left out: it touches money or an account without a reference. */
  readonly needsReason?: true;
  /** Adds arguments, options and texts. */
  readonly describe: (command: Command) => Command;
}

/** A verb with work of its own, for what only a terminal can do: files, tables of any length, long checks. */
export interface WorkingVerb extends Verb {
  readonly isAct?: true;
  /** @param given arguments and options, as commander passes them to an action */
  readonly work: (...given: never[]) => Work;
  readonly input?: undefined;
  readonly answer?: undefined;
}

/** Returns an answer of a line or two for people, with its document. */
export const shortResult = (text: string, document: object): CommandResult => ({
  document,
  text: () => `${text}\n`,
});
