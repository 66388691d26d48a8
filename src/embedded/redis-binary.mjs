/**
 * Finds a Redis server to run, or fetches one. Redis has no portable npm package, so in this order: the
 * PATH, the cache, and on Debian's family the distribution's own package, unpacked without root into the cache.
 * Plain Node: used before anything is installed.
 */

import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolders, trusted, writableCacheFolder } from './cache-folder.mjs';
import { serverEnvironment } from './server-environment.mjs';

/**
 * A server that runs here. `libraryPath` holds shared libraries the system does not have.
 * @typedef {{ command: string, libraryPath?: string, version: string }} RedisBinary
 */

const OLDEST_MAJOR = 7;
const NAMES = ['redis-server', 'valkey-server'];
/** Package managers put servers where an ordinary user's PATH may not look. */
const MORE_FOLDERS = ['/usr/local/bin', '/usr/bin', '/usr/local/sbin', '/usr/sbin', '/opt/homebrew/bin'];
const UNPACKED = `redis-${process.platform}-${process.arch}`;

const run = promisify(execFile);

/**
 * @param {string} command
 * @param {string} [libraryPath]
 * @returns {RedisBinary | undefined} undefined: it does not run, or is too old
 */
function probe(command, libraryPath) {
  const { status, stdout } = spawnSync(command, ['--version'], {
    env: serverEnvironment(libraryPath),
    encoding: 'utf8',
  });
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(stdout ?? '')?.[1];
  if (status !== 0 || !version || Number.parseInt(version, 10) < OLDEST_MAJOR) return undefined;
  return { command, version, ...(libraryPath ? { libraryPath } : {}) };
}

/** @returns {RedisBinary | undefined} from the PATH, else from a cache folder */
export function findRedis() {
  const folders = new Set([...(process.env.PATH ?? '').split(delimiter), ...MORE_FOLDERS].filter(Boolean));
  for (const name of NAMES) {
    for (const folder of folders) {
      const found = existsSync(join(folder, name)) && probe(join(folder, name));
      if (found) return found;
    }
  }
  for (const folder of cacheFolders().filter(trusted)) {
    const found = unpackedServer(join(folder, UNPACKED));
    if (found) return found;
  }
  return undefined;
}

/** @param {string} root a folder that packages were unpacked into */
function unpackedServer(root) {
  const command = join(root, 'redis-server');
  return existsSync(command) ? probe(command, libraryFolders(root)) : undefined;
}

/** @param {string} root */
function libraryFolders(root) {
  const parents = ['lib', 'usr/lib'].map((name) => join(root, name)).filter(existsSync);
  const folders = parents.flatMap((parent) => [
    parent,
    ...readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(parent, entry.name)),
  ]);
  return folders.join(delimiter);
}

/**
 * @param {(line: string) => void} [onProgress]
 * @returns {Promise<RedisBinary>}
 * @throws with what to install, when there is none and none can be fetched
 */
export async function obtainRedis(onProgress = () => {}) {
  const found = findRedis();
  if (found) return found;
  const why = await fetchRedis(onProgress).catch((error) => String(error.message ?? error));
  if (typeof why !== 'string') return why;
  throw new Error(
    [
      `No redis-server or valkey-server ${OLDEST_MAJOR} or newer was found, and none could be fetched (${why}).`,
      'Install one and start again:',
      '  Debian, Ubuntu   sudo apt-get install redis-server',
      '  Fedora           sudo dnf install valkey',
      '  macOS            brew install redis',
      'or name servers of your own in REDIS_URL and DATABASE_URL.',
    ].join('\n'),
  );
}

/**
 * The distribution's package, downloaded and unpacked as whoever we are.
 * @param {(line: string) => void} onProgress
 * @returns {Promise<RedisBinary>}
 */
async function fetchRedis(onProgress) {
  if (process.platform !== 'linux' || spawnSync('apt-get', ['--version']).status !== 0)
    throw new Error('this system has no apt-get');
  const cache = writableCacheFolder();
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    onProgress('Fetching a Redis server from the distribution (once; nothing is installed) …');
    const root = join(work, 'root');
    const apt = aptIn(work);
    await downloadFirst(apt, ['redis-tools', 'valkey-tools'], onProgress);
    await unpackWithLibraries(apt, root);
    placeServer(root);
    const target = join(cache, UNPACKED);
    const fetched = unpackedServer(root);
    if (!fetched)
      throw new Error(`the distribution's Redis does not run here or is older than ${OLDEST_MAJOR}`);
    if (!unpackedServer(target)) {
      rmSync(target, { recursive: true, force: true });
      renameSync(root, target);
    } // else another process was faster
    onProgress(`Redis ${fetched.version} is ready.`);
    return /** @type {RedisBinary} */ (unpackedServer(target));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * apt-get with a state of its own below `work`, so that it needs neither root nor an earlier `apt-get update`.
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
  // Root's apt would download as `_apt`, who cannot enter a private folder.
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
      // A broken third-party source makes this fail without harm: what counts is the download.
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
  // The system's own lists may be there and fresh, which saves reading 10 MB.
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
 * Unpacks what was downloaded, then what it depends on and the system does not have, and so on.
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

/**
 * Debian ships the server inside the tools package under the name of its dump checker; the server's own
 * package only links to it. The program looks at the name it is called by.
 * @param {string} root
 */
function placeServer(root) {
  const candidates = ['redis-server', 'redis-check-rdb', 'valkey-server', 'valkey-check-rdb'];
  const program = candidates.map((name) => join(root, 'usr/bin', name)).find((file) => existsSync(file));
  if (!program) throw new Error("the distribution's package holds no server");
  copyFileSync(program, join(root, 'redis-server'));
  chmodSync(join(root, 'redis-server'), 0o755);
  rmSync(join(root, 'usr/bin'), { recursive: true });
}
