/**
 * Runs `npm test`: the checks and the tests that everybody runs, always with the same random choices. The checks and the
 * tests without servers come first, so that most mistakes appear at once. `npm run proofs` runs the others.
 *
 *   --node VERSION    the tests alone, under the Node of the npm package `node`, which npx keeps in its cache
 */

import { parseArgs } from 'node:util';
import { BROWSER_FIRST, SELECTION } from './selection.mjs';
import { runGroups } from './steps.mjs';

const again = readOptions();
const NODE =
  again.node === undefined ? [process.execPath] : ['npx', '-y', '-p', `node@${again.node}`, '--', 'node'];
const MOCHA = [...NODE, 'node_modules/mocha/bin/mocha.js'];
/** @returns {{ node?: string | undefined }} */
function readOptions() {
  try {
    return parseArgs({ options: { node: { type: 'string' } } }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nUsage: npm test`);
    process.exit(2);
  }
}

/** Four at a time on two cores: more than every third second a file waits for a server, a clock or a process. */
const PARALLEL = ['--parallel', '--jobs', '4'];

const CHECKS = { title: 'checks', command: [process.execPath, 'test/check.mjs'], endsRun: true };
const FIRST = { title: 'tests without servers', command: [...MOCHA, ...SELECTION.first], endsRun: true };
const SERVERS = { title: 'tests with servers', command: [...MOCHA, ...PARALLEL, ...SELECTION.servers] };
const BROWSER = {
  title: 'browser tests',
  command: [process.execPath, 'test/browser/main.mjs', ...BROWSER_FIRST],
};

process.env.SEED ||= '1';
await runGroups(again.node === undefined ? [[FIRST, CHECKS], [SERVERS], [BROWSER]] : [[FIRST, SERVERS]]);
