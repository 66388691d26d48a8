/**
 * Extends mocha's reporter: lists slow and expensive files, and prints how to repeat the run's random choices.
 */

import { relative } from 'node:path';
import Mocha from 'mocha';
import { readProcessorTimes } from './processor-time.ts';
import { runSeed } from './seed.ts';
import { runFolder } from './servers.ts';

const { EVENT_RUN_BEGIN, EVENT_RUN_END, EVENT_TEST_END, EVENT_TEST_FAIL, EVENT_HOOK_END } =
  Mocha.Runner.constants;
const SLOWEST = 15;

const sumOf = (seconds: Iterable<number>): number => [...seconds].reduce((sum, one) => sum + one, 0);

/** Lists the files with the highest figures, and the sum over all files. */
function highest(seconds: ReadonlyMap<string, number>): string {
  return [...seconds]
    .sort(([, one], [, other]) => other - one)
    .slice(0, SLOWEST)
    .concat([['all files', sumOf(seconds.values())]])
    .map(([file, count]) => `${count.toFixed(1).padStart(8)}  ${relative('', file)}`)
    .join('\n');
}

export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const tookMs = new Map<string, number>();
    const add = ({ file, duration = 0 }: Mocha.Runnable): void => {
      if (file) tookMs.set(file, (tookMs.get(file) ?? 0) + duration);
    };

    runner.on(EVENT_TEST_END, add);
    runner.on(EVENT_HOOK_END, add);
    // Also at the start, for a run that hangs.
    runner.once(EVENT_RUN_BEGIN, () => console.log(`\n  SEED=${runSeed()}`));
    // If a file cannot be loaded or its process dies, no test names the file.
    runner.prependListener(EVENT_TEST_FAIL, (test: Mocha.Test) => {
      if (test.parent?.root && test.file) test.title += ` (${relative('', test.file)})`;
    });
    runner.once(EVENT_RUN_END, () => {
      const took = new Map([...tookMs].map(([file, ms]) => [file, ms / 1_000]));
      if (took.size > SLOWEST) console.log(`  The files that took longest, in seconds:\n${highest(took)}\n`);
      const spent = readProcessorTimes(runFolder()!);
      if (spent.size > SLOWEST)
        console.log(`  The files that took most processor time, in seconds:\n${highest(spent)}\n`);
      if (runner.failures > 0) console.log(`  SEED=${runSeed()} repeats the random choices of this run.\n`);
    });
  }
}
