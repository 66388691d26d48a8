/** `npm run bench -- engine|http|streams`: figures with their targets, as ratios within one run. */

import { benchEngine } from './engine.ts';
import { benchHttp } from './http.ts';
import { benchStreams } from './streams.ts';

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  engine: benchEngine,
  http: benchHttp,
  streams: benchStreams,
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
