/** Plants faults into copies of the sources and of the tests, where a test must find them. */

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { type Proof, plantedFor } from './planted.ts';
import { addTests, withPlanted } from './release.ts';

const MOCHA = 'node_modules/mocha/bin/mocha.js';

/** Returns the titles of the tests that failed; undefined if the tests did not run. */
async function failedIn(folder: string, spec: string): Promise<string[] | undefined> {
  addTests(folder);
  const args = [MOCHA, '--reporter', 'json', '--spec', spec];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  const written = await text(child.stdout);
  const report = /^\{[\s\S]*^\}/m.exec(written)?.[0];
  if (report === undefined) return undefined;
  return (JSON.parse(report) as { failures: { title: string }[] }).failures.map(({ title }) => title);
}

/** Prints each fault of the proof with the tests that found it. Exit status 1 if one is not found. */
export async function proveByTests(proof: Proof, spec: string): Promise<void> {
  for (const fault of plantedFor(proof)) {
    const failed = await withPlanted(fault, (folder) => failedIn(folder, spec));
    if (failed === undefined || failed.length === 0) process.exitCode = 1;
    console.log(`${fault.name}: ${failed === undefined ? 'DID NOT RUN' : failed.join('; ') || 'NOT FOUND'}`);
  }
}
