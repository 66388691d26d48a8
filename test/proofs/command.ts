/** Numbers on the command line, progress on stderr and temporary folders, for all commands. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepBuildsIn } from '../support/program.ts';
import { mochaGlobalSetup, mochaGlobalTeardown, stopServers } from '../support/servers.ts';

/** Ends the process with status 2, which means bad usage. */
export function refuse(reason: string): never {
  console.error(reason);
  process.exit(2);
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
