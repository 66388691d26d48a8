/**
 * Makes sure of the installation: installs the packages when they are missing or differ from package-lock.json, bundles
 * the trading page when its sources have changed, and obtains a Redis server. Plain Node with nothing installed. Prints
 * only when it does something, and to stderr, because stdout may be somebody's JSON.
 */

import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from './obtain/cache-folder.mjs';

const OLDEST_NODE = [20, 19];
const PROGRESS_MS = 5_000;
const ERROR_LINES = 15;

const modules = join(projectFolder, 'node_modules');

/** @param {string} line */
const say = (line) => process.stderr.write(`${line}\n`);

/** Says what is wrong and what to do, in place of a stack trace. */
class Trouble extends Error {}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Trouble(
    `Redbook needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}. See https://nodejs.org`,
  );
}

/**
 * @param {string} file
 * @returns {Record<string, LockedPackage> | undefined}
 * @typedef {{ version?: string, integrity?: string, link?: boolean, dev?: boolean, devOptional?: boolean,
 *   optional?: boolean, peer?: boolean, os?: string[], cpu?: string[], libc?: string[] }} LockedPackage
 */
function packagesOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined;
}

/**
 * True when the installed packages are those of package-lock.json. npm writes the second file only when an installation
 * is complete, so an interrupted one counts as none.
 */
function inStep() {
  const wanted = packagesOf(join(projectFolder, 'package-lock.json')) ?? {};
  const present = packagesOf(join(modules, '.package-lock.json'));
  if (!present) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '' || entry.link) return true;
    const found = present[path];
    if (!found) return mayBeMissing(entry);
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/** @param {LockedPackage} entry */
function mayBeMissing(entry) {
  if (!entry.optional && !entry.devOptional) return false;
  // A build for this machine is needed: node_modules may have been copied from another one.
  const forUs = entry.os?.includes(process.platform) && entry.cpu?.includes(process.arch) && !entry.libc;
  return !forUs;
}

function installPackages() {
  const [command, ...prefix] = /\.c?js$/.test(process.env.npm_execpath ?? '')
    ? [process.execPath, String(process.env.npm_execpath)]
    : ['npm'];
  say('Installing the packages of package-lock.json (npm ci) …');
  const begunMs = Date.now();
  const child = spawn(String(command), [...prefix, 'ci', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: projectFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
    });
  const seconds = () => Math.round((Date.now() - begunMs) / 1000);
  const ticker = setInterval(() => say(`  … ${seconds()} s`), PROGRESS_MS);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Trouble(`npm cannot be run: ${error.message}`)));
    child.once('close', (code) => {
      if (code === 0) resolve(say(`The packages are installed (${seconds()} s).`));
      else reject(new Trouble(explain(output)));
    });
  }).finally(() => clearInterval(ticker));
}

/** @param {string} output of npm, whose reasons come first and whose usage follows */
function explain(output) {
  const errors = output.split('\n').filter((line) => /^npm (ERR!|error) ./.test(line));
  const lines = (errors.length > 0 ? errors : output.trim().split('\n')).slice(0, ERROR_LINES);
  return ['The packages could not be installed; npm ci said:', ...lines.map((line) => `  ${line}`)].join(
    '\n',
  );
}

async function ensurePackages() {
  if (inStep()) return;
  if (!writable(existsSync(modules) ? modules : projectFolder))
    throw new Trouble(
      `${modules} is missing or not in step with package-lock.json, and cannot be written by this user: ` +
        'run `npm ci` there as its owner.',
    );
  await alone(async () => {
    if (!inStep()) await installPackages();
  });
}

/** @param {string} path */
function writable(path) {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs work under a lock: two commands in a fresh clone must not install into the same folder at once. The second waits
 * for the first.
 * @param {() => Promise<void>} work
 */
async function alone(work) {
  const cache = join(projectFolder, '.cache');
  const lock = join(cache, 'installing');
  mkdirSync(cache, { recursive: true });
  for (let waited = false; !take(lock); waited = true) {
    if (!waited) say('Another command is installing the packages; waiting for it …');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** @param {string} lock */
function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
  } catch (error) {
    // The holder of the lock was killed.
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH') rmSync(lock, { force: true });
  }
  return false;
}

/**
 * Bundles the page. The service works without it: a user who cannot write here gets the existing bundle, or none.
 * @param {boolean} quiet
 */
async function ensurePage(quiet) {
  const { bundlePage, BundleTrouble, UnwritableTrouble } = await import('../web/bundle.mjs');
  try {
    await bundlePage();
  } catch (error) {
    if (!(error instanceof BundleTrouble)) throw error;
    if (!(error instanceof UnwritableTrouble)) throw new Trouble(error.message);
    if (!quiet) say(`The trading page is not up to date: ${error.message}`);
  }
}

async function ensureRedis() {
  if (process.env.REDIS_URL) return;
  const { obtainRedis } = await import('./obtain/redis-binary.mjs');
  await obtainRedis(say).catch((error) => {
    throw new Trouble(error.message);
  });
}

/**
 * @param {{ quiet: boolean, page: boolean }} wanted `quiet` for commands that use running servers: no Redis, and no page
 * unless `page` asks for it
 * @returns {Promise<boolean>} false if something is missing; the reason is on stderr
 */
export async function install({ quiet, page }) {
  try {
    checkNode();
    await ensurePackages();
    if (!quiet || page) await ensurePage(quiet);
    if (!quiet) await ensureRedis();
    return true;
  } catch (error) {
    say(
      error instanceof Trouble ? `\n${error.message}` : String(error instanceof Error ? error.stack : error),
    );
    return false;
  }
}
