/**
 * `npm run proofs -- smoke`: starts the all-in-one, runs the demo on it, stops it, and runs some test files of each room,
 * within about a minute. `.ci/run` does so under each Node that the whole suite does not run on.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PATIENCE_MS = 120_000;
const TESTS = [
  'auth/siwe',
  'client/placing',
  'domain/*',
  'edge/*',
  'engine/replicas',
  'http/login',
  'http/pipelines',
  'http/place-order',
  'ledger/settle',
  'market-data/trades',
  'operator/accounts',
  'redis/address',
  'roles/listening',
  'stream/text-frames',
  'workers/due-cancels',
];

const dataDir = mkdtempSync(join(tmpdir(), 'redbook-smoke-'));
const port = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
  });
});
const { REDIS_URL, DATABASE_URL, ...inherited } = process.env;
const env = { ...inherited, DATA_DIR: dataDir, PORT: String(port) };

/** @param {string[]} args of Node */
function start(...args) {
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((/** @type {(code: number | null) => void} */ resolve) =>
    child.once('exit', resolve),
  );
  return { child, ended };
}

/** @param {string} what @param {number | null} code */
function expectZero(what, code) {
  if (code !== 0) throw new Error(`${what} ended with ${code}`);
  console.log(`${what}: ok`);
}

/** @param {import('node:child_process').ChildProcess} child */
async function becomesReady(child) {
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (const endMs = Date.now() + PATIENCE_MS; !(await isReady()); await sleep(100))
    if (child.exitCode !== null || Date.now() > endMs) throw new Error('the all-in-one is not ready');
}

async function startAndDemo() {
  const launch = 'src/embedded/launch.mjs';
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const service = start(...scripts.start.match(/--\S+/g), launch, 'src/main.ts', 'all');
  try {
    await becomesReady(service.child);
    expectZero('demo', await start(launch, '--quiet', 'src/main.ts', 'demo').ended);
    service.child.kill('SIGTERM');
    expectZero('start', await service.ended);
  } finally {
    service.child.kill('SIGTERM');
    await service.ended;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

console.log(`Node ${process.versions.node}`);
await startAndDemo();
const mocha = spawn(
  process.execPath,
  [
    'node_modules/mocha/bin/mocha.js',
    '--parallel',
    '--jobs',
    '2',
    ...TESTS.map((name) => `test/${name}.test.ts`),
  ],
  { cwd: ROOT, stdio: 'inherit' },
);
process.exitCode = await new Promise((resolve) => mocha.once('exit', (code) => resolve(code ?? 1)));
