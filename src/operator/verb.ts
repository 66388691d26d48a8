/** What every command of the operator has in common. */

import type { Command } from 'commander';
import type { OperatorRefusal } from '../domain/errors.ts';
import type { OperatorServices } from './services.ts';
import type { Paint, Terminal } from './terminal.ts';

/** What a command found or did. */
export interface Answer {
  /** For `--json`. Decimals are strings: exact in every reader. */
  readonly document: object;
  /** For people. */
  readonly text: (paint: Paint) => string;
  /** The answer is bad news: it is printed, and the command fails all the same. */
  readonly failure?: OperatorRefusal | undefined;
}

export interface Invocation {
  readonly terminal: Terminal;
  readonly json: boolean;
}

/** Opens the services, works, answers and closes them; nothing when the work has written its answer itself. */
export type Perform = (
  work: (services: OperatorServices, invocation: Invocation) => Promise<Answer | undefined>,
) => Promise<void>;

/** A line or two for people, and the document. */
export const said = (text: string, document: object): Answer => ({ document, text: () => `${text}\n` });

/** A noun: a command that only has verbs. */
export const addNoun = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description);
