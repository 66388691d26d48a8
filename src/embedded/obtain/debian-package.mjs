/**
 * Fetches programs and libraries from the packages of Debian-based distributions, without root: downloads and unpacks
 * them into the cache, with the shared libraries that the system lacks. Plain Node: used before anything is installed.
 */

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolders, trusted, writableCacheFolder } from './cache-folder.mjs';

const run = promisify(execFile);

/** @param {string} name */
const folderName = (name) => `${name}-${process.platform}-${process.arch}`;

/**
 * @template Found
 * @param {string} name name of the unpacked folder
 * @param {(root: string) => Found | undefined} look tells what is in the folder and runs here
 * @returns {Found | undefined}
 */
export function findUnpacked(name, look) {
  for (const cache of cacheFolders().filter(trusted)) {
    const root = join(cache, folderName(name));
    const found = existsSync(root) ? look(root) : undefined;
    if (found) return found;
  }
  return undefined;
}

/**
 * Returns the LD_LIBRARY_PATH of an unpacked program.
 * @param {string} root
 */
export function libraryPath(root) {
  const parents = ['lib', 'usr/lib'].map((name) => join(root, name)).filter((folder) => existsSync(folder));
  const folders = parents.flatMap((parent) => [
    parent,
    ...readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(parent, entry.name)),
  ]);
  return folders.join(delimiter);
}

/**
 * Downloads and unpacks a package, whole or not at all; findUnpacked finds it from then on.
 * @template Found
 * @param {object} wanted
 * @param {string} wanted.name name of the unpacked folder
 * @param {string[]} wanted.packages the first that the distribution has is taken
 * @param {(root: string) => void} [wanted.arrange] makes of what was unpacked what `look` looks for
 * @param {(root: string) => Found | undefined} wanted.look as findUnpacked's
 * @param {(line: string) => void} [wanted.onProgress]
 * @returns {Promise<Found>}
 * @throws with the reason, in a few words
 */
export async function fetchPackage({ name, packages, arrange = () => {}, look, onProgress = () => {} }) {
  if (process.platform !== 'linux' || spawnSync('apt-get', ['--version']).status !== 0)
    throw new Error('this system has no apt-get');
  const cache = writableCacheFolder();
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    const root = join(work, 'root');
    const apt = aptIn(work);
    await downloadFirst(apt, packages, onProgress);
    await unpackWithLibraries(apt, root);
    arrange(root);
    if (!look(root)) throw new Error(`the distribution's ${name} does not run here or is too old`);
    const target = join(cache, folderName(name));
    if (!existsSync(target) || !look(target)) {
      rmSync(target, { recursive: true, force: true });
      renameSync(root, target);
    } // else another process was faster
    return /** @type {Found} */ (look(target));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Makes an apt-get with its own state below `work`, so that it needs neither root nor an earlier `apt-get update`.
 * @param {string} work
 */
function aptIn(work) {
  const downloads = join(work, 'downloads');
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'downloads'])
    mkdirSync(join(work, folder), { recursive: true });
  const cache = ['-o', `Dir::Cache=${join(work, 'cache')}`];
  const state = [
    '-o',
    `Dir::State=${join(work, 'state')}`,
    '-o',
    `Dir::State::lists=${join(work, 'state/lists')}`,
  ];
  // As root, apt would download as the user `_apt`, which cannot enter a private folder.
  const rootless = [
    '-o',
    `APT::Sandbox::User=${process.getuid?.() === 0 ? 'root' : ''}`,
    '-o',
    'Debug::NoLocking=1',
  ];
  const env = { ...process.env, LC_ALL: 'C' };
  let lists = /** @type {string[]} */ ([]);
  return {
    downloads,
    /** Reads the distribution's package lists, which a fresh or a slim system does not have. */
    async update() {
      lists = state;
      // A broken third-party source makes this fail without harm: only the download counts.
      await run('apt-get', [...cache, ...state, ...rootless, 'update'], { env }).catch(() => {});
    },
    /** @param {string[]} packages */
    async download(packages) {
      await run('apt-get', [...cache, ...lists, ...rootless, 'download', ...packages], {
        env,
        cwd: downloads,
      });
    },
  };
}

/**
 * @param {ReturnType<typeof aptIn>} apt
 * @param {string[]} packages
 * @param {(line: string) => void} onProgress
 */
async function downloadFirst(apt, packages, onProgress) {
  const first = async () => {
    for (const name of packages.slice(0, -1)) if (await apt.download([name]).then(yes, no)) return;
    await apt.download(packages.slice(-1));
  };
  // The system's own lists may be present and fresh, which saves reading 10 MB.
  if (await first().then(yes, no)) return;
  onProgress('Reading the package lists …');
  await apt.update();
  await first().catch((error) => {
    const line = /^E: (.*)$/m.exec(String(error.stderr ?? ''))?.[1];
    throw new Error(line ?? String(error.message));
  });
}

const yes = () => true;
const no = () => false;

/**
 * Unpacks the downloaded packages, then the dependencies that the system lacks, and so on.
 * @param {ReturnType<typeof aptIn>} apt
 * @param {string} root
 */
async function unpackWithLibraries(apt, root) {
  const seen = new Set();
  for (;;) {
    const archives = readdirSync(apt.downloads).filter((name) => name.endsWith('.deb') && !seen.has(name));
    if (archives.length === 0) return;
    const missing = new Set();
    for (const name of archives) {
      seen.add(name);
      const archive = join(apt.downloads, name);
      await run('dpkg-deb', ['-x', archive, root]);
      const { stdout } = await run('dpkg-deb', ['-f', archive, 'Depends']);
      for (const library of dependencies(stdout)) if (!installed(library)) missing.add(library);
    }
    for (const library of missing) await apt.download([library]);
  }
}

/**
 * @param {string} field `libc6 (>= 2.34), liblzf1 (>= 1.5), a | b`
 * @returns {string[]} the shared libraries among them; other packages serve installation only
 */
function dependencies(field) {
  const names = field
    .split(',')
    .map((entry) => (entry.split('|')[0] ?? '').replace(/\(.*?\)|:any/g, '').trim());
  return names.filter((name) => /^(lib|lua)/.test(name));
}

/** @param {string} name */
function installed(name) {
  const { stdout } = spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' });
  return /^Status: .* installed$/m.test(stdout ?? '');
}
