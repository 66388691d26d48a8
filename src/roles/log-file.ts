/** Writes the log of the all-in-one to rotated files beside its data. They are bounded, and always show the last hour. */

import { chmodSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { destination, levels } from 'pino';

/** Number of files: the log and its predecessors, of which `redbook.log.1` is the newest. */
const FILES = 5;
const FILE_BYTES = 20_000_000;
/** Maximum number of bytes that wait for a slow disk. Later lines are dropped. */
const MAX_WAITING_BYTES = 4_000_000;
const OWNER_ONLY = 0o600;
const HOUR_MS = 3_600_000;
/** Share of an hour after which lines are written again, so that the last hour shows lines of each of its minutes. */
const MINUTE = 1 / 60;

interface LogFileOptions {
  readonly fileBytes?: number;
  readonly nowMs?: () => number;
}

/**
 * Opens a log file for appending. A full file is renamed to the first predecessor, and the oldest predecessor is
 * deleted. Buffered lines are written when the process exits. A disk failure loses log lines but has no other effect.
 * Lines that would wash the last hour away are left out, and counted in a line.
 */
export function openLogFile(
  path: string,
  { fileBytes = FILE_BYTES, nowMs = Date.now }: LogFileOptions = {},
): ReturnType<typeof destination> {
  if (existsSync(path)) {
    chmodSync(path, OWNER_ONLY);
    if (statSync(path).size >= fileBytes) moveOn(path);
  }
  let bytes = existsSync(path) ? statSync(path).size : 0;
  // Opened synchronously, so that a process that exits at once can still write its log.
  const dest = openSync(path, 'a', OWNER_ONLY);
  const file = destination({ dest, mode: OWNER_ONLY, sync: false, maxLength: MAX_WAITING_BYTES });
  const pace = new Pace(fileBytes, nowMs, writtenSince(path, nowMs() - HOUR_MS));
  const write = file.write.bind(file);
  const writeInPace = (line: string): boolean => {
    const leftOut = pace.take(Buffer.byteLength(line));
    if (leftOut === undefined) return true;
    if (leftOut > 0) write(lineOf(leftOut, nowMs()));
    return write(line);
  };
  // pino gets a file descriptor and does not know the path, which it needs to reopen the file.
  Object.assign(file, { file: path, write: writeInPace });
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

/** Allows as many bytes in an hour as the predecessors hold: one file at once, and the others over the hour. */
class Pace {
  readonly #fileBytes: number;
  readonly #nowMs: () => number;
  #allowed: number;
  #sinceMs: number;
  #leftOut = 0;

  /** @param written bytes of the last hour */
  constructor(fileBytes: number, nowMs: () => number, written: number) {
    this.#fileBytes = fileBytes;
    this.#nowMs = nowMs;
    this.#sinceMs = nowMs();
    this.#allowed = Math.min(fileBytes, this.#ofHour + fileBytes - written);
  }

  get #ofHour(): number {
    return (FILES - 2) * this.#fileBytes;
  }

  /** Returns the number of lines that were left out since the last one that was not; undefined if this one is. */
  take(bytes: number): number | undefined {
    const now = this.#nowMs();
    const hours = Math.max(0, now - this.#sinceMs) / HOUR_MS;
    this.#sinceMs = now;
    this.#allowed = Math.min(this.#fileBytes, this.#allowed + hours * this.#ofHour);
    const least = this.#leftOut === 0 ? bytes : this.#ofHour * MINUTE;
    if (this.#allowed < least) {
      this.#leftOut += 1;
      return undefined;
    }
    this.#allowed -= bytes;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}

function lineOf(count: number, time: number): string {
  const line = { level: levels.values.warn, time, pid: process.pid, hostname: hostname(), count };
  return `${JSON.stringify({ ...line, msg: 'lines were left out, so that the log shows the last hour' })}\n`;
}

const namesOf = (path: string): string[] =>
  Array.from({ length: FILES }, (_none, number) => (number === 0 ? path : `${path}.${number}`));

/** Returns the bytes of the files that were written since a time. */
function writtenSince(path: string, sinceMs: number): number {
  const files = namesOf(path).flatMap((name) => statSync(name, { throwIfNoEntry: false }) ?? []);
  return files.filter(({ mtimeMs }) => mtimeMs >= sinceMs).reduce((sum, { size }) => sum + size, 0);
}

/** Renames the oldest file first, so that a kill in between loses at most one predecessor. */
function moveOn(path: string): void {
  const names = namesOf(path);
  for (let number = FILES - 1; number > 0; number -= 1)
    if (existsSync(names[number - 1]!)) renameSync(names[number - 1]!, names[number]!);
}
