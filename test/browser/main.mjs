/**
 * Runs the tests of the page in Chromium: the files that are named, or all. Without Chromium it reports in one line that
 * they are skipped, and fails only with REQUIRE_CHROMIUM=1.
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findChromium } from './find-chromium.mjs';

const MOCHA = fileURLToPath(new URL('../../node_modules/mocha/bin/mocha.js', import.meta.url));
const CONFIG = fileURLToPath(new URL('../browser.mocharc.mjs', import.meta.url));

function run() {
  if (findChromium() !== undefined) {
    const named = process.argv.slice(2);
    const args = [MOCHA, '--config', CONFIG, ...(named.length > 0 ? named : ['test/browser/**/*.test.ts'])];
    return spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
  }
  console.error('The browser tests were left out: no Chromium on PATH, and CHROME_BIN does not name one.');
  return process.env.REQUIRE_CHROMIUM === '1' ? 1 : 0;
}

process.exitCode = run();
