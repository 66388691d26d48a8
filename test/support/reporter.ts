/** Extends mocha's reporter: lists slow files, and prints how to repeat the run's random choices. */

import { relative } from 'node:path';
import Mocha from 'mocha';
import { runSeed } from './seed.ts';

const { EVENT_RUN_BEGIN, EVENT_RUN_END, EVENT_TEST_END, EVENT_TEST_FAIL, EVENT_HOOK_END } =
  Mocha.Runner.constants;
const SLOWEST = 10;

export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const tookMs = new Map<string, number>();
    const add = ({ file, duration = 0 }: Mocha.Runnable): void => {
      if (file) tookMs.set(file, (tookMs.get(file) ?? 0) + duration);
    };
    const slowest = (): string[] =>
      [...tookMs]
        .sort(([, one], [, other]) => other - one)
        .slice(0, SLOWEST)
        .map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(8)}  ${relative('', file)}`);

    runner.on(EVENT_TEST_END, add);
    runner.on(EVENT_HOOK_END, add);
    // Also at the start, for a run that hangs.
    runner.once(EVENT_RUN_BEGIN, () => console.log(`\n  SEED=${runSeed()}`));
    // If a file cannot be loaded or its process dies, no test names the file.
    runner.prependListener(EVENT_TEST_FAIL, (test: Mocha.Test) => {
      if (test.parent?.root && test.file) test.title += ` (${relative('', test.file)})`;
    });
    runner.once(EVENT_RUN_END, () => {
      if (tookMs.size > SLOWEST)
        console.log(`  The files that took longest, in seconds:\n${slowest().join('\n')}\n`);
      if (runner.failures > 0) console.log(`  SEED=${runSeed()} repeats the random choices of this run.\n`);
    });
  }
}
