/** The operator's command line: `redbook <noun> <verb> …`. */

import { Command, CommanderError } from 'commander';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import { EngineBehind, EngineFormat, namedRight } from '../engine/index.ts';
import { DatabaseRefused, LedgerDiverged } from '../ledger/index.ts';
import { NOUNS } from './nouns.ts';
import { addNoun } from './operation.ts';
import type { OperatorServices } from './services.ts';
import { isClosedByReader, paintFor, type Terminal, write } from './terminal.ts';
import type { RunCommand } from './verb.ts';

export type { OperatorServices } from './services.ts';
export type { Terminal } from './terminal.ts';

/** Exit statuses. */
const DONE = 0;
/** The command was understood and refused, or the answer is bad news. The code says which. */
const REFUSED = 1;
/** The command was not understood, and no server was asked. The code is always BAD_USAGE. */
const MISUSED = 2;

/**
 * Runs one command to its end.
 * @param argv words after `redbook`
 * @param open called once the arguments are parsed; its result is closed before the status is returned
 * @returns the exit status: 0 done, 1 refused, 2 bad usage
 */
export async function runOperator(
  argv: readonly string[],
  open: () => Promise<OperatorServices>,
  terminal: Terminal = { out: process.stdout, err: process.stderr },
): Promise<number> {
  // A stream whose reader closed it reports this to the write, which handles it, and to listeners of the stream.
  const ignore = (): void => undefined;
  for (const stream of [terminal.out, terminal.err]) stream.on('error', ignore);
  try {
    return await run(argv, open, terminal);
  } catch (error) {
    if (isClosedByReader(error)) return DONE;
    throw error;
  } finally {
    for (const stream of [terminal.out, terminal.err]) stream.off('error', ignore);
  }
}

async function run(
  argv: readonly string[],
  open: () => Promise<OperatorServices>,
  terminal: Terminal,
): Promise<number> {
  let status = DONE;
  const program = new Command('redbook');
  const asksForJson = (): boolean => program.opts().json === true;
  const fail = async (error: unknown): Promise<void> => {
    status = REFUSED;
    await reportCode(codeOf(error), messageOf(error), asksForJson(), terminal.err);
  };
  const perform: RunCommand = async (work) => {
    const json = asksForJson();
    const services = await open().catch((error: unknown) => {
      throw isCoded(error) ? error : new OperatorRefusal('SERVICE_UNAVAILABLE', messageOf(error));
    });
    try {
      const answer = await work(services, { terminal, json }).catch((error: unknown) => {
        throw explained(namedRight(error), services.troubles?.() ?? []);
      });
      if (answer === undefined) return;
      await write(
        terminal.out,
        json ? `${JSON.stringify(answer.document)}\n` : answer.text(paintFor(terminal.out)),
      );
      if (answer.failure !== undefined) await fail(answer.failure);
    } finally {
      await services.close();
    }
  };

  const printed = describe(program, perform);
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      if (isClosedByReader(error)) return DONE;
      await fail(error);
    } else if (error.exitCode === 0) {
      await write(terminal.out, asksForJson() ? `${JSON.stringify({ help: printed.out })}\n` : printed.out);
    } else {
      status = MISUSED;
      await reportMisuse(error, argv.includes('--json'), printed.err, terminal);
    }
  }
  return status;
}

/** Adds the nouns to the program, and collects the help and the errors that commander would print. */
function describe(program: Command, perform: RunCommand): { out: string; err: string } {
  const printed = { out: '', err: '' };
  program
    .description(
      'Operates a Redbook service: the one that npm start runs in this folder, or the one on the servers of REDIS_URL ' +
        'and DATABASE_URL. Exit status: 0 success, 1 refused or failed, 2 bad usage.',
    )
    .option('--json', 'print one JSON document, with decimals as strings')
    // Must come before the nouns, which inherit these settings when they are created.
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        printed.out += text;
      },
      writeErr: (text) => {
        printed.err += text;
      },
    })
    .configureHelp({ showGlobalOptions: true });
  for (const noun of NOUNS) addNoun(program, perform, noun);
  return printed;
}

const NAMED_CODES: readonly [new (...parameters: never[]) => Error, string][] = [
  [EngineBehind, 'ENGINE_BEHIND'],
  [EngineFormat, 'ENGINE_FORMAT'],
  [LedgerDiverged, 'LEDGER_DIVERGED'],
  [DatabaseRefused, 'DATABASE_REFUSED'],
];

const isCoded = (error: unknown): error is Refusal | OperatorRefusal =>
  error instanceof Refusal || error instanceof OperatorRefusal;

const codeOf = (error: unknown): string =>
  isCoded(error)
    ? error.code
    : (NAMED_CODES.find(([kind]) => error instanceof kind)?.[1] ?? 'INTERNAL_ERROR');

/** Adds the unavailable servers to an error. */
const explained = (error: unknown, troubles: readonly string[]): unknown =>
  error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE' && troubles.length > 0
    ? new Refusal(error.code, `${error.message}: ${troubles.join('; ')}`, { cause: error })
    : error;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const reportCode = (code: string, message: string, json: boolean, err: Terminal['err']): Promise<void> =>
  write(
    err,
    json ? `${JSON.stringify({ error: message, code })}\n` : `${paintFor(err)('red', code)}: ${message}\n`,
  );

/**
 * Reports bad usage.
 * @param help text of commander: its complaint, or the help of a noun without a verb
 */
async function reportMisuse(
  error: CommanderError,
  json: boolean,
  help: string,
  { err }: Terminal,
): Promise<void> {
  const lacksVerb = error.code === 'commander.help';
  const message = lacksVerb ? 'incomplete command' : error.message.replace(/^error: /, '');
  await reportCode('BAD_USAGE', message, json, err);
  if (lacksVerb && !json) await write(err, `\n${help}`);
}
