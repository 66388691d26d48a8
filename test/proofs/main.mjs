/**
 * `npm run proofs` runs the proofs that `.ci/run` runs. `npm run proofs -- NAME [argument …]` runs one command of those
 * below, and `npm run proofs -- --help` lists them. They are for people who change Redbook. A run draws a seed unless
 * SEED gives one. Plain Node with nothing installed.
 */

const OPTIONS = '[option …]';
const MOCHA = 'node_modules/mocha/bin/mocha.js';
const ALL = 'test/proofs/all.mjs';

/**
 * `run` is what src/embedded/launch.mjs gets, before the arguments of the caller. `takes` names these: `[option …]` where
 * the command reads them and answers `--help`; without it the proof takes none.
 * @type {Record<string, { does: string, run: string[], takes?: '[option …]' | 'VERSION' }>}
 */
const PROOFS = {
  tests: {
    does: 'runs the tests that take long, kill servers, or prove packing and deployment',
    run: [ALL, 'tests'],
  },
  browser: { does: 'tests the page in Chromium', run: [ALL, 'browser'] },
  'redis-cluster': {
    does: 'runs tests of each room on a Redis Cluster of three primaries',
    run: [MOCHA, 'test/proofs/redis-cluster.test.ts'],
  },
  versions: {
    does: 'runs the engine’s and the ledger’s tests on each Postgres, Redis and Valkey that has a package',
    run: ['--quiet', 'test/proofs/versions/main.ts'],
    takes: OPTIONS,
  },
  node: {
    does: 'runs all tests but the browser’s under another Node, such as 24, from the npm package `node`',
    run: ['test/whole.mjs', '--node'],
    takes: 'VERSION',
  },
  smoke: {
    does: 'starts the service, runs the demo and a test file of each room; for a quick look at another Node',
    run: ['--page', 'test/smoke.mjs'],
  },
  packed: {
    does: 'packs Redbook, installs the package in an empty folder, and asks it whether it is ready',
    run: [MOCHA, '--spec', 'test/proofs/packed/packed.ts'],
  },
  equivalence: {
    does: 'compares the scripts with a naive exchange',
    run: ['--quiet', 'test/proofs/equivalence/main.ts'],
    takes: OPTIONS,
  },
  copies: {
    does: 'plants faults into the copies of the engine, which the tests of rounds and keepers must find',
    run: ['--quiet', 'test/proofs/copies/main.ts'],
  },
  costs: {
    does: 'plants what made orders costly, which the test of their costs must find',
    run: ['--quiet', 'test/proofs/costs/main.ts'],
  },
  trimming: {
    does: 'plants a fault of what trimming keeps, which the tests of trimming must find',
    run: ['--quiet', 'test/proofs/trimming/main.ts'],
  },
  'order-routes': {
    does: 'compares order batches, replacements and changes with a naive exchange',
    run: ['--quiet', 'test/proofs/order-routes/main.ts'],
    takes: OPTIONS,
  },
  ccxt: {
    does: 'installs CCXT into a temporary folder, and checks its Redbook class against a service',
    run: ['--quiet', 'test/proofs/ccxt/main.ts'],
  },
  runtimes: {
    does: 'installs Deno and Bun into a temporary folder, and runs the examples of the client with them',
    run: ['--quiet', 'test/proofs/runtimes/main.ts'],
  },
  growth: {
    does: 'places orders and compares the engine’s memory with a model of live state',
    run: ['--quiet', 'test/proofs/growth/main.ts'],
    takes: OPTIONS,
  },
  sweeps: {
    does: 'settles a backlog of large orders in a process with a small heap',
    run: ['--quiet', 'test/proofs/sweeps/main.ts'],
    takes: OPTIONS,
  },
  seed: {
    does: 'fills an empty database with a ledger, and prints the plans of its reads',
    run: ['--quiet', 'test/proofs/bench/seed.ts'],
    takes: OPTIONS,
  },
  statements: {
    does: 'settles a seeded history and recomputes every statement',
    run: ['--quiet', 'test/proofs/statements/main.ts'],
    takes: OPTIONS,
  },
  schema: {
    does: 'writes the schema, its objects and the table of checks anew, after a change of any',
    run: ['--quiet', 'test/proofs/schema/main.ts'],
  },
  'order-formats': {
    does: 'writes lua/include/order_formats.lua and src/redis/generated.ts anew, after a change of the fields of orders',
    run: ['--quiet', 'test/proofs/order-formats/main.ts'],
  },
  generators: {
    does: 'generates clients from the API documents with third-party generators, and compiles them',
    run: ['--quiet', 'test/proofs/generators/main.ts'],
  },
  promtool: {
    does: 'checks metrics and alert rules with Prometheus’ promtool, which must be on PATH',
    run: ['--quiet', MOCHA, '--spec', 'test/proofs/promtool/promtool.ts'],
  },
  screenshots: {
    does: 'takes pictures of the page and the desk into a folder, at four widths, in both themes and forced colours',
    run: ['test/proofs/screenshots/main.ts'],
    takes: OPTIONS,
  },
};

const [name, ...rest] = process.argv.slice(2);
const proof = Object.entries(PROOFS).find(([one]) => one === name)?.[1];
const isHelp = (/** @type {string | undefined} */ word) => word === '--help' || word === '-h';

/** @param {string[]} run of src/embedded/launch.mjs */
async function launch(run) {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...run);
  await import('../../src/embedded/launch.mjs');
}

/** @param {string[]} lines @param {boolean} isAsked false after a word that is not understood */
function tell(lines, isAsked) {
  (isAsked ? console.log : console.error)(lines.join('\n'));
  process.exitCode = isAsked ? 0 : 2;
}

/** @param {typeof PROOFS[string]} proof */
const fits = ({ takes }) =>
  takes === OPTIONS || (takes === undefined ? rest.length === 0 : rest.length === 1 && !isHelp(rest[0]));

if (name === undefined) await launch([ALL]);
else if (!proof) {
  const lines = Object.entries(PROOFS).map(([one, { does }]) => `  ${one.padEnd(15)}${does}`);
  const unknown = isHelp(name) ? [] : [`No proof is named ${name}.`];
  tell([...unknown, `Usage: npm run proofs [-- NAME ${OPTIONS}]`, '', ...lines], isHelp(name));
} else if (fits(proof)) await launch([...proof.run, ...rest]);
else tell([`Usage: npm run proofs -- ${name} ${proof.takes ?? ''}`.trimEnd(), proof.does], rest.some(isHelp));
