/**
 * Finds the folders that keep fetched and copied binaries between runs. Plain Node: used before anything is installed.
 */

import { accessSync, constants, lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectFolder = fileURLToPath(new URL('../../..', import.meta.url));

const uid = process.getuid ? process.getuid() : 0;

/** Returns the cache folders, best first: the project's own, the user's, one in the temporary folder. */
export const cacheFolders = () => [
  join(projectFolder, '.cache'),
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'redbook'),
  join(tmpdir(), `redbook-${uid}`),
];

/**
 * In a shared temporary folder another user could have put binaries there for us to run.
 * @param {string} folder
 * @returns {boolean} true if the folder exists and only we, root or the project's owner can have filled it
 */
export function trusted(folder) {
  try {
    const { uid: owner, mode } = lstatSync(folder);
    return (mode & 0o002) === 0 && [uid, 0, lstatSync(projectFolder).uid].includes(owner);
  } catch {
    return false;
  }
}

/**
 * Creates the folder if it is missing.
 * @param {string} folder
 * @returns {boolean} true if we can write to the folder and it may be trusted
 */
export function usable(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    return trusted(folder);
  } catch {
    return false;
  }
}

/** @returns {string} the first cache folder that can be written */
export function writableCacheFolder() {
  const folder = cacheFolders().find(usable);
  if (!folder) throw new Error(`no cache folder can be written: tried ${cacheFolders().join(', ')}`);
  return folder;
}
