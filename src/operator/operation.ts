/**
 * One thing that operators do, in one definition: name, rights, input, reply, errors, texts and work. The command, the
 * route for operators and its part of the API document follow from it.
 */

import type { Command } from 'commander';
import type { z } from 'zod';
import type { StatusSources } from '../books/status.ts';
import type { Plain } from '../contract/written.ts';
import type { Act } from '../domain/act.ts';
import type { ErrorCode, OperatorCode } from '../domain/errors.ts';
import type { OperatorKey, OperatorRight } from '../domain/operator-rights.ts';
import { type ActOptions, actOf, withAct } from './act-options.ts';
import type { OperatorServices } from './services.ts';
import type { CommandResult, RunCommand } from './verb.ts';

export const OPERATOR_TAGS = {
  Money: 'Deposits and withdrawals, each under a reference that counts once.',
  Wallets: 'Balances, live orders, holds and statements.',
  Markets: 'Markets, assets and single orders.',
  Finance: 'Reports of any length, as JSON or CSV. Two at once; an answer that is cut off is no whole one.',
  Service: 'The kill switch, terms, and the state of the service.',
  Operation: 'Probes and metrics of the process.',
} as const;

/** Services of the process that carries an operation out: of a command, or of a route. */
export interface OperationServices extends StatusSources {
  /** Network ID of a new market that does not name its own. */
  readonly networkId: string;
}

/** Who asks, and why. */
interface Asking {
  readonly act: Act;
  /** The key of a request; commands need none. */
  readonly key?: OperatorKey;
}

interface Done<Result> {
  readonly reply: Result;
  /** False if it was done before, and nothing changed. */
  readonly isNew?: boolean;
}

/** A verb of the command line. */
interface Verb<Input, Result> {
  readonly verb: string;
  /** Adds arguments, options and texts. */
  readonly describe: (command: Command) => Command;
  /** @param given arguments and options, as commander passes them to an action */
  readonly input?: (...given: never[]) => Input;
  readonly answer: (
    done: Done<Result>,
    call: { readonly input: Input; readonly services: OperatorServices; readonly options: object },
  ) => CommandResult | Promise<CommandResult>;
}

/** Parts of the path, and of the body without the reason. */
type Input<Params, Body> = NoInfer<Params> & Omit<NoInfer<Body>, 'reason'>;

interface OperationOf<Params, Body, Reply extends z.ZodType> {
  readonly id: string;
  readonly tag: keyof typeof OPERATOR_TAGS;
  readonly summary: string;
  readonly description?: string;
  /** A POST is an act: its body has a reason, and its command has --by and --reason. */
  readonly method: 'GET' | 'POST';
  /** Without the prefix. */
  readonly path: string;
  /** A key needs one of these. */
  readonly rights: readonly OperatorRight[];
  /** Parts of the path. */
  readonly params?: z.ZodType<Params> & { readonly shape: Readonly<Record<string, z.ZodType>> };
  /** Body of a POST. */
  readonly body?: z.ZodType<Body>;
  /** Reason of a request that may leave it out. */
  readonly usualReason?: string;
  readonly reply: Reply;
  /** The reply has the status 201 if the operation was new. */
  readonly mayCreate?: true;
  readonly codes?: readonly (ErrorCode | OperatorCode)[];
  run(services: OperationServices, input: Input<Params, Body>, asking: Asking): Promise<Done<Plain<Reply>>>;
  readonly verbs?: readonly Verb<Input<Params, Body>, Plain<Reply>>[];
}

// biome-ignore lint/suspicious/noExplicitAny: an operation of a list has any input and any result
export type Operation = OperationOf<any, any, any>;

export const operation = <Params, Body, Reply extends z.ZodType>(
  definition: OperationOf<Params, Body, Reply>,
): Operation => definition;

/** Adds the verbs of an operation to a noun of the command line. */
export function addOperation(
  noun: Command,
  perform: RunCommand,
  { method, run, verbs = [] }: Operation,
): void {
  for (const { verb, describe, input = () => ({}), answer } of verbs) {
    const command = noun.command(verb);
    describe(method === 'POST' ? withAct(command) : command).action((...given: unknown[]) => {
      const options = given.at(-2) as ActOptions;
      const asked = input(...(given as never[]));
      return perform(async (services) => {
        const done = await run(services, asked, { act: actOf(options) });
        return answer(done, { input: asked, services, options });
      });
    });
  }
}
