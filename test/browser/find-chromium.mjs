/** Finds Chromium on this machine. Plain Node, because `npm test` asks before it loads anything else. */

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'chromium-headless-shell'];

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @returns {string | undefined} the path that CHROME_BIN names, or else the first Chromium on PATH
 */
export function findChromium(environment = process.env) {
  const { CHROME_BIN, PATH = '' } = environment;
  if (CHROME_BIN) return isExecutable(CHROME_BIN) ? CHROME_BIN : undefined;
  const folders = PATH.split(delimiter).filter((folder) => folder !== '');
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable);
}
