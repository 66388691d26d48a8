/** Shows the serious log lines to a person at a terminal. */

interface LogLine {
  readonly msg?: string;
  readonly err?: { readonly message?: string };
}

const SAID_EVERY_MS = 10_000;
/** Maximum number of different sentences that are remembered, to bound memory. */
const MAX_SENTENCES = 100;

/**
 * Makes a stream for pino that writes each line as one sentence, with the error but without its stack. A sentence that
 * was already written within the last ten seconds is skipped.
 */
export function consoleOf(
  print: (line: string) => void,
  now: () => number = Date.now,
): { write(line: string): void } {
  const saidMs = new Map<string, number>();
  return {
    write(line) {
      const { msg = '', err } = JSON.parse(line) as LogLine;
      const sentence = [msg, err?.message?.split('\n')[0]].filter(Boolean).join(': ');
      if (now() - (saidMs.get(sentence) ?? Number.NEGATIVE_INFINITY) < SAID_EVERY_MS) return;
      if (saidMs.size >= MAX_SENTENCES) saidMs.clear();
      saidMs.set(sentence, now());
      print(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`);
    },
  };
}
