/** Files of one JSON document a line, which a kill of the writer leaves readable. */

import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';

export interface Lines<Line> {
  /** Each line is one write to a file that is open for appending. */
  write(line: Line): void;
  close(): void;
}

/** Opens a file for appending. A last line that a kill left unfinished is cut off; nobody acted on it. */
export function openLines<Line>(file: string): Lines<Line> {
  const descriptor = openSync(file, 'a');
  ftruncateSync(descriptor, readFileSync(file).lastIndexOf('\n') + 1);
  return {
    write: (line) => {
      writeSync(descriptor, `${JSON.stringify(line)}\n`);
    },
    close: () => closeSync(descriptor),
  };
}

/** Reads the whole lines of a file, which may be missing. */
export function readLines<Line>(file: string): Line[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Line);
}
