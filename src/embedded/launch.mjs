/**
 * Runs a command of the checkout, so that a fresh clone needs no other one. Makes sure of the installation, and then runs
 * FILE with its arguments in this process, which therefore gets the signals and gives the exit code. Plain Node with
 * nothing installed.
 *
 *     node src/embedded/launch.mjs [--quiet] [--page] [FILE [argument …]]
 *
 *   --quiet   for commands that use running servers: packages only
 *   --page    bundles the page even with --quiet: for commands that start an API
 *
 * FILE is a path in the checkout. Without it, the command only installs.
 */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { install } from './install.mjs';
import { projectFolder } from './obtain/cache-folder.mjs';

const given = process.argv.slice(2);
const end = given.findIndex((argument) => !argument.startsWith('--'));
const flags = end === -1 ? given : given.slice(0, end);
const [file, ...rest] = given.slice(flags.length);

if (!(await install({ quiet: flags.includes('--quiet'), page: flags.includes('--page') })))
  process.exitCode = 1;
else if (file !== undefined) {
  const path = join(projectFolder, file);
  process.argv.splice(1, Number.POSITIVE_INFINITY, path, ...rest);
  // As `node --import=tsx`, also for the processes that the command forks.
  // @ts-expect-error: this entry has no types.
  await import('tsx');
  process.execArgv.push('--import=tsx');
  await import(pathToFileURL(path).href);
}
