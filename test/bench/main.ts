/** `npm run bench -- engine|http|market-data|streams|sizing|reconcile`: figures with their targets, as ratios within one run. */

import { benchEngine } from './engine.ts';
import { benchHttp } from './http.ts';
import { benchMarketData } from './market-data.ts';
import { benchReconcile } from './reconcile.ts';
import { benchSizing } from './sizing.ts';
import { benchStreams } from './streams.ts';

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  engine: benchEngine,
  http: benchHttp,
  'market-data': benchMarketData,
  streams: benchStreams,
  sizing: benchSizing,
  reconcile: benchReconcile,
};

const asked = process.argv.slice(2);
const names = asked.length === 0 ? Object.keys(BENCHES) : asked;
for (const name of names) {
  const bench = BENCHES[name];
  if (bench === undefined) {
    console.error(`no bench ${name}; there are: ${Object.keys(BENCHES).join(', ')}`);
    process.exit(2);
  }
  await bench();
}
