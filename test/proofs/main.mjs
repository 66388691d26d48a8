/**
 * `npm run proofs` runs the proofs that `.ci/run` runs. `npm run proofs -- NAME [argument …]` runs one command of those
 * below, and `npm run proofs -- --list` lists them. They are for people who change Redbook. A run draws a seed unless
 * SEED gives one. Plain Node with nothing installed.
 */

const MOCHA = 'node_modules/mocha/bin/mocha.js';
const ALL = 'test/proofs/all.mjs';

/**
 * `run` is what src/embedded/launch.mjs gets, before the arguments of the caller.
 * @type {Record<string, { does: string, run: string[] }>}
 */
const PROOFS = {
  tests: {
    does: 'runs the tests that take long, kill servers, or prove packing and deployment',
    run: [ALL, 'tests'],
  },
  browser: { does: 'tests the page in Chromium', run: [ALL, 'browser'] },
  'redis-cluster': {
    does: 'runs the tests that also run on clusters, with each Redis a cluster of three primaries',
    run: [MOCHA, 'test/proofs/redis-cluster/*.test.ts'],
  },
  versions: {
    does: 'runs the engine’s and the ledger’s tests on each Postgres, Redis and Valkey that has a package: --only P',
    run: ['--quiet', 'test/proofs/versions/main.ts'],
  },
  node: {
    does: 'runs all tests but the browser’s under another Node, such as 24, from the npm package `node`',
    run: ['test/whole.mjs', '--node'],
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
    does: 'compares the scripts with a naive exchange: --operations N, --seed S',
    run: ['--quiet', 'test/proofs/equivalence/main.ts'],
  },
  copies: {
    does: 'plants faults into the copies of the engine, which the tests of rounds and keepers must find',
    run: ['--quiet', 'test/proofs/copies/main.ts'],
  },
  'order-routes': {
    does: 'compares batches, replacements and changes with a naive exchange: --cases N, --seed S, --broken',
    run: ['--quiet', 'test/proofs/order-routes/main.ts'],
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
    does: 'places N orders and compares the engine’s memory with a model of live state: --orders N',
    run: ['--quiet', 'test/proofs/growth/main.ts'],
  },
  sweeps: {
    does: 'settles N orders of 1,000 fills each in a process with a small heap',
    run: ['--quiet', 'test/proofs/sweeps/main.ts'],
  },
  seed: {
    does: 'fills an empty database with a ledger of N trades: --trades N, --plans',
    run: ['--quiet', 'test/proofs/bench/seed.ts'],
  },
  statements: {
    does: 'settles a seeded history of N events and recomputes every statement: --events N, --seed S',
    run: ['--quiet', 'test/proofs/statements/main.ts'],
  },
  schema: {
    does: 'writes test/ledger/schema.sql anew, after a new migration',
    run: ['--quiet', 'test/proofs/schema/main.ts'],
  },
  'order-formats': {
    does: 'writes lua/include/order_formats.lua anew, after a change of the fields of orders',
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
    does: 'takes pictures of the trading page into FOLDER, at four widths and in both themes',
    run: ['test/proofs/screenshots/main.ts'],
  },
};

const [name, ...rest] = process.argv.slice(2);
const run = name === undefined ? [ALL] : Object.entries(PROOFS).find(([one]) => one === name)?.[1].run;
if (run) {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...run, ...rest);
  await import('../../src/embedded/launch.mjs');
} else {
  const lines = Object.entries(PROOFS).map(([one, { does }]) => `  ${one.padEnd(15)}${does}`);
  const unknown = name === '--list' ? [] : [`No proof is named ${name}.`];
  const text = [...unknown, 'Usage: npm run proofs [-- NAME [argument …]]', '', ...lines].join('\n');
  (name === '--list' ? console.log : console.error)(text);
  process.exitCode = name === '--list' ? 0 : 1;
}
