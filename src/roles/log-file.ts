/** Writes the log of the all-in-one to rotated files beside its data, with a bounded total size. */

import { chmodSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { destination } from 'pino';

/** Number of files: the log and its predecessors, of which `redbook.log.1` is the newest. */
const FILES = 5;
const FILE_BYTES = 20_000_000;
/** Maximum number of bytes that wait for a slow disk. Later lines are dropped. */
const MAX_WAITING_BYTES = 4_000_000;
const OWNER_ONLY = 0o600;

/**
 * Opens a log file for appending. A full file is renamed to the first predecessor, and the oldest predecessor is
 * deleted. Buffered lines are written when the process exits. A disk failure loses log lines but has no other effect.
 */
export function openLogFile(path: string, fileBytes = FILE_BYTES): ReturnType<typeof destination> {
  if (existsSync(path)) {
    chmodSync(path, OWNER_ONLY);
    if (statSync(path).size >= fileBytes) moveOn(path);
  }
  let bytes = existsSync(path) ? statSync(path).size : 0;
  // Opened synchronously, so that a process that exits at once can still write its log.
  const dest = openSync(path, 'a', OWNER_ONLY);
  const file = destination({ dest, mode: OWNER_ONLY, sync: false, maxLength: MAX_WAITING_BYTES });
  // pino gets a file descriptor and does not know the path, which it needs to reopen the file.
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
      // Continues in the same file, and retries after the file has grown by the same size again.
      bytes = 0;
    }
  });
  return file;
}

/** Renames the oldest file first, so that a kill in between loses at most one predecessor. */
function moveOn(path: string): void {
  for (let number = FILES - 1; number > 0; number -= 1) {
    const newer = number === 1 ? path : `${path}.${number - 1}`;
    if (existsSync(newer)) renameSync(newer, `${path}.${number}`);
  }
}
