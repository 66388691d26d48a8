/**
 * Runs all files but the browser's for `npm test`, four at a time on two cores: more than every third second a file
 * waits for a server, a clock or a process. Long files go first, so that none of them is left for the end.
 */

import { readdirSync, readFileSync } from 'node:fs';

/** Compares the times of seven processes to 300 ms, so `npm test` runs this file by itself, before all others. */
const ALONE = 'test/stream/cadence.test.ts';

/** Run while the browser tests still take a processor: with every job, some three minutes. */
const BESIDE_BROWSER = [
  'commands/campaign/campaign',
  'equivalence/equivalence',
  'roles/processes',
  'equivalence/mutations',
  'commands/simulation/simulation',
  'embedded/embedded',
  'redis-cluster/engine',
  'redis/failover',
  'books/rebuild',
  'books/reconcile',
];
/** Compare times, so they run after the browser tests. */
const TIMED = ['http/limits', 'queue/queue', 'workers/snapshot', 'commands/drill/drill', 'roles/outages'];
const LONG = [
  'roles/copies',
  'roles/own-copies',
  'engine/copies/model',
  'redis-cluster/streams',
  'roles/upgrade',
  'redis-cluster/settlement',
  'roles/batch-kills',
  'commands/sweeps/sweeps',
  'ledger/kill',
  'books/next-format',
  'engine/long-walks',
  'engine/numbers',
  'http/market-data-large-book',
  'deployment/engine-settings',
  'equivalence/isolation',
  'roles/first-minute',
  'stream/streams',
  'http/pages',
  'auth/siwe-fuzz',
  'books/corruptions',
  'books/insider',
  'books/lost-rules',
  'workers/settlement',
  'redis-cluster/http',
  'redis/tls',
  'roles/starting',
  'http/lists',
  'ledger/outage',
  'roles/diverged',
];

const onClusters = process.env.REDBOOK_TEST_REDIS === 'cluster';
const all = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && !file.startsWith('browser/'))
  .map((file) => `test/${file}`)
  .filter((file) => file !== ALONE)
  .sort();
const ahead = [...BESIDE_BROWSER, ...TIMED, ...LONG].map((name) => `test/${name}.test.ts`);
const missing = ahead.filter((file) => !all.includes(file));
if (missing.length > 0) throw new Error(`no such file: ${missing}`);

export default {
  ...JSON.parse(readFileSync(new URL('../.mocharc.json', import.meta.url), 'utf8')),
  parallel: true,
  jobs: 4,
  // The files that ask for clusters are the selection that a run on clusters takes.
  spec: [...ahead, ...all.filter((file) => !ahead.includes(file))].filter(
    (file) => !onClusters || file.startsWith('test/redis-cluster/'),
  ),
};
