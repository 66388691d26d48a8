/**
 * How `npm test` runs all files but those of the browser: two at a time, in this order. What measures time goes first, beside each other and
 * beside what mostly waits; then what takes long, so that no long file is left for the end.
 */

import { readdirSync, readFileSync } from 'node:fs';

const MEASURES_TIME = ['stream/cadence', 'http/limits', 'cluster/cluster', 'queue/queue', 'workers/snapshot'];
const TAKES_LONG = [
  ...['roles/processes', 'equivalence/equivalence', 'roles/upgrade', 'roles/outages', 'embedded/embedded'],
  ...[
    'equivalence/mutations',
    'roles/batch-kills',
    'sweeps/sweeps',
    'http/market-data-large-book',
    'deployment/engine-settings',
  ],
  ...[
    'operator/corruptions',
    'operator/lost-rules',
    'operator/reconcile',
    'http/pages',
    'roles/first-minute',
    'redis/tls',
    'roles/starting',
    'stream/streams',
    'workers/settlement',
  ],
];

const all = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && !file.startsWith('browser/'))
  .map((file) => `test/${file}`)
  .sort();
const ahead = [...MEASURES_TIME, ...TAKES_LONG].map((name) => `test/${name}.test.ts`);
const missing = ahead.filter((file) => !all.includes(file));
if (missing.length > 0) throw new Error(`no such file: ${missing}`);

export default {
  ...JSON.parse(readFileSync(new URL('../.mocharc.json', import.meta.url), 'utf8')),
  parallel: true,
  jobs: 2,
  spec: [...ahead, ...all.filter((file) => !ahead.includes(file))],
};
