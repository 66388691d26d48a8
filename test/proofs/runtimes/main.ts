/**
 * `npm run proofs -- runtimes` installs Deno and Bun from their npm packages into a temporary folder, and runs the tests of
 * the examples with both on PATH.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ROOT } from '../../support/program.ts';
import { temporaryFolder } from '../command.ts';

const PACKAGES = ['deno@2.9.6', 'bun@1.4.5'];
const MOCHA = 'node_modules/mocha/bin/mocha.js';

const folder = temporaryFolder('runtimes');
writeFileSync(join(folder, 'package.json'), '{ "private": true }');
execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', ...PACKAGES], {
  cwd: folder,
  stdio: 'inherit',
});
const { status } = spawnSync(process.execPath, [MOCHA, '--spec', 'test/proofs/client/examples.test.ts'], {
  cwd: ROOT,
  env: { ...process.env, PATH: [join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter) },
  stdio: 'inherit',
});
process.exit(status ?? 1);
