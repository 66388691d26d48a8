/** Starts one browser for each process of the tests. */

import { type Browser, chromium } from 'playwright-core';
import { findChromium } from './find-chromium.mjs';

/** Names of other hosts do not resolve, so no test can leave this machine. */
const LOOPBACK_ONLY = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1';

/**
 * A script for each context whose pages get functions: tsx compiles named functions to calls of `__name`, including
 * those sent to a page.
 */
export const KEEP_NAMES = 'globalThis.__name = (named) => named;';

/** Starts Chromium headless, on a new profile and without background requests. */
async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error('no Chromium: set CHROME_BIN, or install Debian’s package chromium');
  // Chromium refuses to run its sandbox as root.
  return chromium.launch({
    executablePath,
    chromiumSandbox: process.getuid?.() !== 0,
    args: [LOOPBACK_ONLY],
  });
}

let running: Promise<Browser> | undefined;

/** @returns the browser of this process, which all of its test files share */
export function sharedBrowser(): Promise<Browser> {
  running ??= launch();
  return running;
}

export async function closeSharedBrowser(): Promise<void> {
  const browser = await running?.catch(() => undefined);
  running = undefined;
  await browser?.close();
}
