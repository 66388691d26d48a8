/**
 * `npm run check [-- NAME …]`: what is known without running Redbook. Each step runs, one after the other, also after one
 * has failed. Exits with 1 if any failed.
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CACHE = 'node_modules/.cache';
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} project @param {string} name */
const types = (project, name) => [
  'node_modules/@typescript/native/bin/tsc',
  '-p',
  project,
  '--noEmit',
  '--singleThreaded',
  '--incremental',
  '--tsBuildInfoFile',
  `${CACHE}/types/${name}.tsbuildinfo`,
];

/** @type {Record<string, string[]>} the arguments of Node */
const STEPS = {
  types: types('.', 'service'),
  'types of the page': types('src/web', 'page'),
  'types of the browser tests': types('test/browser', 'browser'),
  lint: ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  'lint of the scripts': ['test/lua-style.mjs'],
  rooms: ['node_modules/dependency-cruiser/bin/dependency-cruise.mjs', 'src'],
  'dead code and packages': [
    'node_modules/knip/bin/knip.js',
    '--no-progress',
    '--treat-config-hints-as-errors',
  ],
};

/** @type {import('node:child_process').ChildProcess | undefined} */
let running;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => {
    running?.kill(signal);
    process.exit(1);
  });

const chosen = process.argv.slice(2);
const unknown = chosen.filter((text) => !Object.keys(STEPS).some((name) => name.includes(text)));
if (unknown.length > 0) {
  console.error(
    `No check has a name with ${unknown.join(' or ')}; there are: ${Object.keys(STEPS).join(', ')}`,
  );
  process.exit(2);
}
for (const [name, args] of Object.entries(STEPS)) {
  if (chosen.length > 0 && !chosen.some((text) => name.includes(text))) continue;
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  running = child;
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code === 0) continue;
  console.error(`Failed: ${name}`);
  process.exitCode = 1;
}
