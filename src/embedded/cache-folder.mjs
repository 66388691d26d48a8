/** Where fetched and copied binaries are kept between runs. Plain Node: used before anything is installed. */

import { accessSync, constants, lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectFolder = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const uid = process.getuid ? process.getuid() : 0;

/** Best first: the project's own, then the user's, then one in the temporary folder. */
export const cacheFolders = () => [
  join(projectFolder, '.cache'),
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'redbook'),
  join(tmpdir(), `redbook-${uid}`),
];

/**
 * Creates the folder if it is missing.
 * @param {string} folder
 * @returns {boolean} whether it is there, is ours and takes files. Not ours: in a shared temporary
 *   folder somebody else could have put binaries there for us to run.
 */
export function usable(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { uid: owner, mode } = lstatSync(folder);
    return (owner === uid || folder.startsWith(projectFolder)) && (mode & 0o002) === 0;
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
