/**
 * One thing that operators do, in one definition: name, rights, input, reply, errors, texts and work. The command, the
 * route for operators, its part of the API document and the dialog of the desk follow from it.
 */

import type { Command } from 'commander';
import { z } from 'zod';
import type { StatusSources } from '../books/status.ts';
import type { Plain } from '../contract/written.ts';
import type { Act } from '../domain/act.ts';
import type { ErrorCode, OperatorCode } from '../domain/errors.ts';
import type { OperatorKey, OperatorRight } from '../domain/operator-rights.ts';
import type { WrittenPage } from '../statements/page.ts';
import type { Report, ReportAs } from '../statements/report.ts';
import { type ActOptions, actOf, withAct } from './act-options.ts';
import type { OperatorServices } from './services.ts';
import type { CommandResult, RunCommand, Verb, Work, WorkingVerb } from './verb.ts';

export const OPERATOR_TAGS = {
  Money: 'Deposits and withdrawals, each under a reference that counts once.',
  Wallets: 'Balances, live orders, holds and statements.',
  Markets: 'Markets, assets and single orders.',
  Finance: 'Reports of any length, as JSON or CSV. Two at once; an answer that is cut off is no whole one.',
  Service: 'The kill switch, terms, and the state of the service.',
  Operation: 'Probes and metrics of the process.',
} as const;

/** Names of the reply schemas in the API document. Each schema registers itself where it is written. */
export const replyNames = z.registry<{ id: string }>();

/** Services of the process that carries an operation out: of a command, or of a route. */
export interface OperationServices extends StatusSources {
  /** Network ID of a new market that does not name its own. */
  readonly networkId: string;
  /** Aborted when the process is about to end: requests wait no longer. */
  readonly stopping?: AbortSignal;
}

/** Who asks, and why. */
interface Asking {
  readonly act: Act;
  /** The key of a request; commands need none. */
  readonly key?: OperatorKey;
  /** Logs the error of a part of a request, as that of a whole request is logged. */
  readonly report?: (error: unknown) => void;
}

interface Done<Result> {
  readonly reply: Result;
  /** False if it was done before, and nothing changed. */
  readonly isNew?: boolean;
}

/** A reply of any length, or one that is text already. */
export type TextOutcome =
  | (ReportAs & { readonly report: Report; readonly format: 'json' | 'csv'; readonly file: string })
  | { readonly page: WrittenPage };

/** A verb that runs its operation, and tells the result. */
interface RunningVerb<Input, Result> extends Verb {
  /** @param given arguments and options, as commander passes them to an action */
  readonly input?: (...given: never[]) => Input;
  readonly answer: (
    result: Result,
    call: { readonly input: Input; readonly services: OperatorServices; readonly options: object },
  ) => CommandResult | Promise<CommandResult>;
  readonly work?: undefined;
}

type AnyVerb<Input, Result> = RunningVerb<Input, Result> | WorkingVerb;

/** A schema of an object, whose members are known by name. */
export type ObjectOf<Value> = z.ZodType<Value> & { readonly shape: Readonly<Record<string, z.ZodType>> };

/** Parts of the path, of the query, and of the body without the reason. */
type Input<Params, Query, Body> = NoInfer<Params> & NoInfer<Query> & Omit<NoInfer<Body>, 'reason'>;

interface OperationOf<Id extends string, Params, Query, Body, Reply extends z.ZodType, Result> {
  readonly id: Id;
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
  readonly params?: ObjectOf<Params>;
  /** Query of a GET. Any other parameter is refused, because a misspelt filter would list too much. */
  readonly query?: ObjectOf<Query>;
  /** Body of a POST. */
  readonly body?: z.ZodType<Body>;
  /** Reason of a request that may leave it out. */
  readonly usualReason?: string;
  readonly reply: Reply;
  /** Schemas of the reply in further content types. */
  readonly alsoAs?: Readonly<Record<string, z.ZodType>>;
  /** Further headers of the reply. */
  readonly headers?: readonly ('Link' | 'Content-Disposition')[];
  /** The reply has the status 201 if the operation was new. */
  readonly mayCreate?: true;
  readonly codes?: readonly (ErrorCode | OperatorCode)[];
  run(services: OperationServices, input: Input<Params, Query, Body>, asking: Asking): Promise<Result>;
  readonly verbs?: readonly AnyVerb<Input<Params, Query, Body>, Result>[];
}

// biome-ignore lint/suspicious/noExplicitAny: an operation of a list has any input and any result
export type Operation = OperationOf<string, any, any, any, any, any>;

type DoneOperation<Id extends string, Params, Query, Body, Reply extends z.ZodType> = OperationOf<
  Id,
  Params,
  Query,
  Body,
  Reply,
  Done<Plain<Reply>>
>;

export const operation = <const Id extends string, Params, Query, Body, Reply extends z.ZodType>(
  definition: DoneOperation<Id, Params, Query, Body, Reply>,
): DoneOperation<Id, Params, Query, Body, Reply> => definition;

type TextOperation<Id extends string, Params, Query, Reply extends z.ZodType> = OperationOf<
  Id,
  Params,
  Query,
  unknown,
  Reply,
  TextOutcome
>;

/** Defines an operation whose reply is a text. */
export const textOperation = <const Id extends string, Params, Query, Reply extends z.ZodType>(
  definition: TextOperation<Id, Params, Query, Reply>,
): TextOperation<Id, Params, Query, Reply> => definition;

/** Defines an operation whose reply is a page as JSON, or a text of any length. */
export const mixedOperation = <const Id extends string, Params, Query, Reply extends z.ZodType>(
  definition: OperationOf<Id, Params, Query, unknown, Reply, Done<Plain<Reply>> | TextOutcome>,
): typeof definition => definition;

/** A word of the command line and its verbs: operations, and verbs that have no route. */
export interface Noun {
  /** Absent: its verbs stand by themselves, as `status` does. */
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly (Operation | WorkingVerb)[];
}

export const isOperation = (part: Operation | WorkingVerb): part is Operation => 'path' in part;

/** Adds a noun with its verbs to the program. */
export function addNoun(program: Command, perform: RunCommand, { name, description, parts }: Noun): void {
  const noun = name === undefined ? program : program.command(name).description(description!);
  for (const part of parts) {
    const verbs = isOperation(part) ? (part.verbs ?? []) : [part];
    for (const verb of verbs) {
      const isAct = isOperation(part) ? part.method === 'POST' : part.isAct === true;
      const command = noun.command(verb.verb, { isDefault: verb.isDefault ?? false });
      const workOf = verb.work ?? running(part as Operation, verb);
      verb
        .describe(isAct ? withAct(command, verb.needsReason) : command)
        .action((...given: unknown[]) => perform(workOf(...(given as never[]))));
    }
  }
}

/** Returns the work of a verb that runs its operation. */
function running(
  { run }: Operation,
  // biome-ignore lint/suspicious/noExplicitAny: as in Operation
  { input = () => ({}), answer }: RunningVerb<any, any>,
): (...given: never[]) => Work {
  return (...given) => {
    const options = given.at(-2) as unknown as ActOptions;
    const asked = input(...given);
    return async (services) => {
      const result = await run(services, asked, { act: actOf(options) });
      return answer(result, { input: asked, services, options });
    };
  };
}
