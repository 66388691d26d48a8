/** Plants faults into copies of the sources and of the tests, where a test must find them. */

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { type Proof, plantedFor } from './planted.ts';
import { addTests, withPlanted } from './release.ts';

const MOCHA = 'node_modules/mocha/bin/mocha.js';

interface Report {
  readonly failures: readonly { readonly title: string }[];
}

/** A hook that fails has tested nothing. */
const OF_HOOK = /^"(before|after) (all|each)" hook/;

/** Returns the titles of the tests that failed; undefined if the tests did not run, or a hook of theirs failed. */
export async function failedIn(folder: string, spec: string): Promise<string[] | undefined> {
  const args = [MOCHA, '--reporter', 'json', '--spec', spec];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  const written = await text(child.stdout);
  const report = /^\{[\s\S]*^\}/m.exec(written)?.[0];
  if (report === undefined) return undefined;
  const failed = (JSON.parse(report) as Report).failures.map(({ title }) => title);
  return failed.some((title) => OF_HOOK.test(title)) ? undefined : failed;
}

/** Prints each fault of the proof with the tests that found it. Exit status 1 if one is not found. */
export async function proveByTests(proof: Proof, spec: string): Promise<void> {
  for (const fault of plantedFor(proof)) {
    const failed = await withPlanted(fault, (folder) => {
      addTests(folder);
      return failedIn(folder, spec);
    });
    if (failed === undefined || failed.length === 0) process.exitCode = 1;
    console.log(`${fault.name}: ${failed === undefined ? 'DID NOT RUN' : failed.join('; ') || 'NOT FOUND'}`);
  }
}
