/** Runs the proofs of `.ci/run`, or those that are named: `tests`, `browser`, `packed`. */

import { SELECTION } from '../selection.mjs';
import { runGroups } from '../steps.mjs';

const MOCHA = [process.execPath, 'node_modules/mocha/bin/mocha.js'];
/** Figures of these depend on how soon their processes run, so no other proof runs beside them. */
const ALONE = ['test/proofs/stream/cadence.test.ts', 'test/proofs/http/order-costs.test.ts'];

const MEASURED = { title: 'proofs that measure', command: [...MOCHA, ...ALONE] };
const TESTS = {
  title: 'proofs',
  command: [
    ...MOCHA,
    '--parallel',
    '--jobs',
    '3',
    ...SELECTION.proofs.filter((file) => !ALONE.includes(file)),
  ],
};
const BROWSER = {
  title: 'browser tests',
  command: [process.execPath, 'test/browser/main.mjs', ...SELECTION.browser],
};
const PACKED = { title: 'packed', command: [...MOCHA, 'test/proofs/packed/packed.ts'] };

/** @type {Record<string, import('../steps.mjs').Step[][]>} */
const PARTS = { tests: [[MEASURED], [TESTS]], browser: [[BROWSER]], packed: [[PACKED]] };

// One seed for all steps, so that it repeats the whole run.
process.env.SEED ||= String(Date.now() % 2 ** 31);
const named = process.argv.slice(2);
await runGroups(
  named.length > 0 ? named.flatMap((name) => PARTS[name] ?? []) : [[MEASURED], [TESTS, BROWSER], [PACKED]],
);
