/**
 * What `npm test` runs once more, on Redis Clusters: a file of each kind of thing that talks to Redis. All of the files
 * are run there by `npm run test:cluster`.
 */

import { readFileSync } from 'node:fs';

const FILES = [
  ...['stream/streams', 'engine/epochs', 'engine/replicas', 'engine/settlement-failed'],
  ...['workers/settlement', 'http/request-log', 'http/login'],
];

process.env.REDBOOK_TEST_REDIS = 'cluster';

export default {
  ...JSON.parse(readFileSync(new URL('../.mocharc.json', import.meta.url), 'utf8')),
  parallel: true,
  jobs: 2,
  spec: FILES.map((name) => `test/${name}.test.ts`),
};
