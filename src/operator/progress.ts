/** Tells on stderr where a command is that takes long. */

import { type Terminal, write } from './terminal.ts';

const TELL_EVERY_MS = 15_000;

/**
 * Runs work that names its steps. Prints the time and the step every 15 seconds, and nothing for work that is shorter.
 * Does not print with `--json`, where stderr has one document at most.
 */
export async function withProgress<Result>(
  { terminal, json }: { readonly terminal: Terminal; readonly json: boolean },
  work: (onStep: (step: string) => void) => Promise<Result>,
  everyMs = TELL_EVERY_MS,
): Promise<Result> {
  if (json) return work(() => undefined);
  let current = '';
  const begunMs = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - begunMs) / 1_000);
    write(terminal.err, `${seconds} s: ${current}\n`).catch(() => undefined);
  }, everyMs);
  try {
    return await work((step) => {
      current = step;
    });
  } finally {
    clearInterval(timer);
  }
}
