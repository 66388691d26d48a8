/**
 * Runs groups of steps, several at a time so that no processor stands idle. The output appears in the order of the
 * steps: the first unfinished step writes at once, and the others wait their turn.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * @typedef {{ title: string, command: string[], endsRun?: boolean }} Step
 * `endsRun` is true if a failure stops the other steps.
 */

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
let isStopped = false;

/**
 * Sends a signal to all running steps and their children. Each step is a process group of its own, because mocha does
 * not pass SIGTERM on.
 * @param {NodeJS.Signals} signal
 */
function stop(signal) {
  isStopped = true;
  for (const { pid } of running)
    try {
      if (pid !== undefined) process.kill(-pid, signal);
    } catch {
      // The group ended meanwhile.
    }
}

/** The output of a step, held back until `release`. */
class Output {
  /** @type {Uint8Array[] | undefined} */
  #held = [];

  /** @param {Uint8Array} chunk */
  write(chunk) {
    if (this.#held) this.#held.push(chunk);
    else process.stdout.write(chunk);
  }

  release() {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const chunk of held) process.stdout.write(chunk);
  }
}

/**
 * @param {Step} step
 * @returns {{ output: Output, failed: Promise<boolean> }}
 */
function start({ command: [program = '', ...args], endsRun = false }) {
  const output = new Output();
  const child = spawn(program, args, {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
  });
  running.add(child);
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.write(chunk));
  const failed = new Promise((/** @type {(failed: boolean) => void} */ resolve) => {
    child.once('error', (error) => output.write(Buffer.from(`${error.message}\n`)));
    child.once('close', (code) => resolve(code !== 0));
  }).then((hasFailed) => {
    running.delete(child);
    if (hasFailed && endsRun) stop('SIGTERM');
    return hasFailed;
  });
  return { output, failed };
}

/**
 * Runs a group and writes its output in order.
 * @param {Step[]} steps
 * @returns {Promise<string[]>} titles of the failed steps
 */
async function run(steps) {
  const started = steps.map((step) => ({ ...step, ...start(step) }));
  const failures = [];
  for (const { title, output, failed } of started) {
    process.stdout.write(`\n— ${title}\n`);
    output.release();
    if (await failed) failures.push(title);
    if (isStopped) break;
  }
  await Promise.all(started.map(({ failed }) => failed));
  return failures;
}

/**
 * Runs the groups one after the other, and the steps of a group at the same time. All steps start processes from one
 * build of the sources. Sets the exit code to 1 if any step failed.
 * @param {Step[][]} groups
 */
export async function runGroups(groups) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => stop(signal));
  const builds = mkdtempSync(join(tmpdir(), 'redbook-test-'));
  process.env.REDBOOK_TEST_BUILDS = builds;
  process.once('exit', () => rmSync(builds, { recursive: true, force: true }));
  const failures = [];
  for (const steps of groups) if (!isStopped) failures.push(...(await run(steps)));
  if (failures.length > 0) console.error(`\nFailed: ${failures.join(', ')}`);
  process.exitCode = failures.length > 0 || isStopped ? 1 : 0;
}
