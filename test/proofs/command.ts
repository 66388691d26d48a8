/** The command line, progress on stderr and temporary folders, for all commands. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { keepBuildsIn } from '../support/program.ts';
import { mochaGlobalSetup, mochaGlobalTeardown, stopServers } from '../support/servers.ts';

/** Description of each option, and its default: `false` makes a flag, and an option without one may be left out. */
type Options = Readonly<Record<string, readonly [does: string, initial?: string | false]>>;

type Given<Known extends Options> = {
  readonly [Name in keyof Known]: Known[Name] extends readonly [string, infer Initial]
    ? Initial extends false
      ? boolean
      : string
    : string | undefined;
};

const BAD_USAGE = 2;

/**
 * Reads the command line. `--help` prints the options and ends the process with 0; a word that is no option ends it with
 * 2.
 * @param name of the command, as it is typed
 * @param options by name, such as `databaseUrl` for `--database-url`
 */
export function readOptions<const Known extends Options>(
  name: string,
  does: string,
  options: Known,
): Given<Known> {
  const command = new Command(name).description(does).exitOverride(({ exitCode }) => {
    process.exit(exitCode === 0 ? 0 : BAD_USAGE);
  });
  for (const [option, [what, initial]] of Object.entries<Options[string]>(options)) {
    const flag = `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    command.option(initial === false ? flag : `${flag} <value>`, what, initial);
  }
  return command.parse().opts<Given<Known>>();
}

/** Ends the process with status 2, which means bad usage. */
export function refuse(reason: string): never {
  console.error(reason);
  process.exit(BAD_USAGE);
}

/** A number that cannot be read would run nothing, and nothing fails. */
export function wholeNumber(name: string, text: string, least = 0): number {
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value) || value < least)
    refuse(`--${name} must be a whole number from ${least} on, not ${text}`);
  return value;
}

export const newSeed = (): string => String(Date.now() % 2 ** 31);

export const say = (line: string): void =>
  console.error(`${(performance.now() / 1_000).toFixed(1).padStart(7)} s  ${line}`);

/** Returns a new folder that is removed when the process ends, also by a signal. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `redbook-${name}-`));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  return folder;
}

export const keepBuilds = (name: string): void => keepBuildsIn(temporaryFolder(`${name}-builds`));

/** Runs a command on the servers of the tests. */
export async function withServers<Done>(work: () => Promise<Done>): Promise<Done> {
  mochaGlobalSetup();
  try {
    return await work();
  } finally {
    await stopServers();
    await mochaGlobalTeardown();
  }
}
