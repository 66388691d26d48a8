/**
 * `npm run tool -- NAME [argument …]` runs one of the commands below; without a name it lists them. They are for people
 * who change Redbook. Plain Node with nothing installed.
 */

const MOCHA = 'node_modules/mocha/bin/mocha.js';

/**
 * `run` is what src/embedded/launch.mjs gets, before the arguments of the caller.
 * @type {Record<string, { does: string, run: string[] }>}
 */
const TOOLS = {
  browser: { does: 'tests the trading page in Chromium, alone', run: ['test/browser/main.mjs'] },
  'redis-cluster': {
    does: 'runs the tests that also run on clusters, with each Redis a cluster of three primaries',
    run: ['test/whole.mjs', '--redis-cluster'],
  },
  versions: {
    does: 'runs the engine’s and the ledger’s tests on each Postgres, Redis and Valkey that has a package: --only P',
    run: ['--quiet', 'test/commands/versions/main.ts'],
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
    run: [MOCHA, '--spec', 'test/commands/packed/packed.ts'],
  },
  equivalence: {
    does: 'compares the scripts with a naive exchange: --operations N, --seed S',
    run: ['--quiet', 'test/commands/equivalence/main.ts'],
  },
  copies: {
    does: 'plants faults into the copies of the engine, which the tests of rounds and keepers must find',
    run: ['--quiet', 'test/commands/copies/main.ts'],
  },
  'order-routes': {
    does: 'compares batches, replacements and changes with a naive exchange: --cases N, --seed S, --broken',
    run: ['--quiet', 'test/commands/order-routes/main.ts'],
  },
  ccxt: {
    does: 'installs CCXT into a temporary folder, and checks its Redbook class against a service',
    run: ['--quiet', 'test/commands/ccxt/main.ts'],
  },
  growth: {
    does: 'places N orders and compares the engine’s memory with a model of live state: --orders N',
    run: ['--quiet', 'test/commands/growth/main.ts'],
  },
  sweeps: {
    does: 'settles N orders of 1,000 fills each in a process with a small heap',
    run: ['--quiet', 'test/commands/sweeps/main.ts'],
  },
  seed: {
    does: 'fills an empty database with a ledger of N trades: --trades N, --plans',
    run: ['--quiet', 'test/commands/bench/seed.ts'],
  },
  statements: {
    does: 'settles a seeded history of N events and recomputes every statement: --events N, --seed S',
    run: ['--quiet', 'test/commands/statements/main.ts'],
  },
  schema: {
    does: 'writes test/ledger/schema.sql anew, after a new migration',
    run: ['--quiet', 'test/commands/schema/main.ts'],
  },
  'order-formats': {
    does: 'writes lua/include/order_formats.lua anew, after a change of the fields of orders',
    run: ['--quiet', 'test/commands/order-formats/main.ts'],
  },
  generators: {
    does: 'generates clients from the API documents with third-party generators, and compiles them',
    run: ['--quiet', 'test/commands/generators/main.ts'],
  },
  promtool: {
    does: 'checks metrics and alert rules with Prometheus’ promtool, which must be on PATH',
    run: ['--quiet', MOCHA, '--spec', 'test/commands/promtool/promtool.ts'],
  },
  screenshots: {
    does: 'takes pictures of the trading page into FOLDER, at four widths and in both themes',
    run: ['test/commands/screenshots/main.ts'],
  },
};

const [name, ...rest] = process.argv.slice(2);
const tool = Object.entries(TOOLS).find(([one]) => one === name)?.[1];
if (tool) {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...tool.run, ...rest);
  await import('../../src/embedded/launch.mjs');
} else {
  const lines = Object.entries(TOOLS).map(([one, { does }]) => `  ${one.padEnd(15)}${does}`);
  const unknown = name === undefined ? [] : [`No tool is named ${name}.`];
  const text = [...unknown, 'Usage: npm run tool -- NAME [argument …]', '', ...lines].join('\n');
  (name === undefined ? console.log : console.error)(text);
  process.exitCode = name === undefined ? 0 : 1;
}
