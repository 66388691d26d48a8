/**
 * `npm run tool -- copies` plants each fault of the copies into a copy of the sources and of the tests, where the tests of
 * the rounds must find it. Exit status 1 if one is not found.
 */

import { spawn } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { plantedFor } from '../../planted/planted.ts';
import { withPlanted } from '../../planted/release.ts';
import { ROOT } from '../../support/program.ts';

const ROUNDS = 'test/engine/copies/rounds.test.ts';
const MOCHA = 'node_modules/mocha/bin/mocha.js';

/** Returns the titles of the tests that failed; undefined if the tests did not run. */
async function failedIn(folder: string): Promise<string[] | undefined> {
  for (const part of ['test', 'k8s', '.mocharc.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, '.cache'), join(folder, '.cache'));
  const args = [MOCHA, '--reporter', 'json', '--spec', ROUNDS];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  const written = await text(child.stdout);
  const report = /^\{[\s\S]*^\}/m.exec(written)?.[0];
  if (report === undefined) return undefined;
  return (JSON.parse(report) as { failures: { title: string }[] }).failures.map(({ title }) => title);
}

for (const fault of plantedFor('copies')) {
  const failed = await withPlanted(fault, failedIn);
  if (failed === undefined || failed.length === 0) process.exitCode = 1;
  console.log(`${fault.name}: ${failed === undefined ? 'DID NOT RUN' : failed.join('; ') || 'NOT FOUND'}`);
}
