/**
 * Finds a program to run, or fetches one: the PATH, the cache, and on Debian's family the distribution's own
 * package. Plain Node: used before anything is installed.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchPackage, findUnpacked, libraryPath } from './debian-package.mjs';
import { serverEnvironment } from './server-environment.mjs';

/**
 * A program that runs here. `libraryPath` holds shared libraries the system does not have.
 * @typedef {{ command: string, libraryPath?: string, version: string }} Program
 */

/**
 * @typedef {object} Wanted
 * @property {string} name of its folder in the cache
 * @property {string[]} commands its names on the PATH, the best first
 * @property {string} versionFlag makes it print its version and end
 * @property {(output: string) => string | undefined} versionOf undefined: not what is wanted, or too old
 * @property {string[]} packages of the distribution; the first that it has is taken
 * @property {string} unpacked path of the program in the unpacked package
 * @property {(root: string) => void} [arrange] puts it there, if the package has it elsewhere
 */

/** Package managers put servers where an ordinary user's PATH may not look. */
const MORE_FOLDERS = ['/usr/local/bin', '/usr/bin', '/usr/local/sbin', '/usr/sbin', '/opt/homebrew/bin'];

/**
 * @param {Wanted} wanted
 * @returns {Program | undefined} from the PATH, else from a cache folder
 */
function findProgram(wanted) {
  const folders = new Set([...(process.env.PATH ?? '').split(delimiter), ...MORE_FOLDERS].filter(Boolean));
  for (const name of wanted.commands) {
    for (const folder of folders) {
      const found = probe(wanted, join(folder, name));
      if (found) return found;
    }
  }
  return findUnpacked(wanted.name, lookFor(wanted));
}

/**
 * @param {Wanted} wanted
 * @param {(line: string) => void} onProgress
 * @returns {Promise<Program>}
 * @throws with the reason in a few words, when there is none and none can be fetched
 */
export async function obtainProgram(wanted, onProgress) {
  const found = findProgram(wanted);
  if (found) return found;
  onProgress(`Fetching ${wanted.name} from the distribution (once; nothing is installed) …`);
  const fetched = await fetchPackage({ ...wanted, look: lookFor(wanted), onProgress });
  onProgress(`${wanted.name} ${fetched.version} is ready.`);
  return fetched;
}

/**
 * @param {Wanted} wanted
 * @returns {(root: string) => Program | undefined} looks into a folder that packages were unpacked into
 */
const lookFor = (wanted) => (root) => probe(wanted, join(root, wanted.unpacked), libraryPath(root));

/**
 * @param {Wanted} wanted
 * @param {string} command
 * @param {string} [libraries]
 * @returns {Program | undefined} undefined: it is not there, does not run, or is not what is wanted
 */
function probe({ versionFlag, versionOf }, command, libraries) {
  if (!existsSync(command)) return undefined;
  const env = serverEnvironment(libraries);
  const { status, stdout } = spawnSync(command, [versionFlag], { env, encoding: 'utf8' });
  const version = status === 0 ? versionOf(stdout) : undefined;
  return version ? { command, version, ...(libraries ? { libraryPath: libraries } : {}) } : undefined;
}
