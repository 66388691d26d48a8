/** Writes the log of the all-in-one: files beside its data that together never grow beyond a bound. */

import { chmodSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { destination } from 'pino';

/** Number of files: the log and its predecessors, of which `redbook.log.1` is the newest. */
const FILES = 5;
const FILE_BYTES = 20_000_000;
/** Most bytes that wait for a slow disk. Later lines are lost. */
const MOST_WAITING_BYTES = 4_000_000;
const OWNER_ONLY = 0o600;

/**
 * Opens a log file for appending. A full one becomes the first predecessor, and the oldest predecessor is removed.
 * Waiting lines are written when the process ends. A disk that fails costs lines only.
 */
export function openLogFile(path: string, fileBytes = FILE_BYTES): ReturnType<typeof destination> {
  if (existsSync(path)) {
    chmodSync(path, OWNER_ONLY);
    if (statSync(path).size >= fileBytes) moveOn(path);
  }
  let bytes = existsSync(path) ? statSync(path).size : 0;
  // The file is open when this returns, so that a process that ends at once can write its log.
  const dest = openSync(path, 'a', OWNER_ONLY);
  const file = destination({ dest, mode: OWNER_ONLY, sync: false, maxLength: MOST_WAITING_BYTES });
  // Given a descriptor, it does not know the path that it is to open anew.
  Object.assign(file, { file: path });
  file.on('error', () => undefined);
  let isMoving = false;
  file.on('ready', () => {
    if (isMoving) bytes = 0;
    isMoving = false;
  });
  file.on('write', (written: number) => {
    bytes += written;
    if (bytes < fileBytes || isMoving) return;
    try {
      moveOn(path);
      isMoving = true;
      file.reopen();
    } catch {
      // The log goes on in the same file, and tries again when the file has grown by as much.
      bytes = 0;
    }
  });
  return file;
}

/** Renames from the oldest on, so that a process that is killed meanwhile loses one predecessor at most. */
function moveOn(path: string): void {
  for (let number = FILES - 1; number > 0; number -= 1) {
    const newer = number === 1 ? path : `${path}.${number - 1}`;
    if (existsSync(newer)) renameSync(newer, `${path}.${number}`);
  }
}
