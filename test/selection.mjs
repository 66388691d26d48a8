/**
 * Divides the test files between `npm test`, which everybody runs, and `npm run proofs`. A file of `test/proofs/` takes
 * long, kills servers, measures, or proves packing and deployment. A test of the house holds that each file has one place.
 */

import { readdirSync } from 'node:fs';

/** Files of the browser that `npm test` runs: a first visit with a sign-in, and orders. */
export const BROWSER_FIRST = ['test/browser/sign-in.test.ts', 'test/browser/trading.test.ts'];

/** Rooms whose tests need no server, so that their failures appear first. */
const WITHOUT_SERVERS = ['auth', 'domain', 'edge', 'process', 'web'];

/** Files that run first among their kind, because the others fill the time that they leave. */
const LONG = [
  'http/lists',
  'http/limits',
  'workers/settlement',
  'stream/streams',
  'ledger/settle',
  'history/order-changes',
  'proofs/roles/outage-costs',
  'proofs/commands',
  'proofs/http/made-up-places',
  'proofs/engine/copies/model',
  'proofs/simulation/simulation',
];

/** @param {string[]} some */
const longestFirst = (some) => [
  ...long.filter((file) => some.includes(file)),
  ...some.filter((file) => !long.includes(file)),
];

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .sort();

/** @param {string} room */
const under = (room) => (/** @type {string} */ file) => file.startsWith(`test/${room}/`);
const ofBrowser = files.filter(under('browser'));
const ofProofs = files.filter(under('proofs'));
const others = files.filter((file) => !ofBrowser.includes(file) && !ofProofs.includes(file));
const long = LONG.map((name) => `test/${name}.test.ts`);
const missing = [...BROWSER_FIRST, ...long].filter((file) => !files.includes(file));
if (missing.length > 0) throw new Error(`no such file: ${missing}`);

/** @param {string} file */
const needsNone = (file) =>
  /^test\/[a-z-]+\.test\.ts$/.test(file) || WITHOUT_SERVERS.some((room) => under(room)(file));

export const SELECTION = {
  /** Tests without servers, of `npm test`. */
  first: others.filter(needsNone),
  /** Tests with servers, of `npm test`. */
  servers: longestFirst(others.filter((file) => !needsNone(file))),
  /** Proofs in mocha. */
  proofs: longestFirst(ofProofs),
  /** The other files of the browser. */
  browser: ofBrowser.filter((file) => !BROWSER_FIRST.includes(file)),
};
