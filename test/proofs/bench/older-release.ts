/** Checks out an older release of this repository into a temporary folder for the duration of a run. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this project. */
export const PRESENT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

export interface OlderRelease {
  readonly revision: string;
  /** Project folder of the release; undefined if it cannot run here, for the reason in `because`. */
  readonly folder: string | undefined;
  readonly because?: string;
  remove(): void;
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}
type Lock = { readonly packages: Readonly<Record<string, LockedPackage>> };

const readLock = (file: string): Lock => JSON.parse(readFileSync(file, 'utf8'));

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: PRESENT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** Returns the packages that a release needs and that are not installed here in its version. */
function misfits(folder: string): string[] {
  const wanted = readLock(join(folder, 'package-lock.json')).packages;
  const installed = readLock(join(PRESENT, 'node_modules/.package-lock.json')).packages;
  return Object.entries(wanted)
    .filter(
      ([path, { dev, optional }]) => path !== '' && !dev && (!optional || installed[path] !== undefined),
    )
    .filter(([path, { version }]) => installed[path]?.version !== version)
    .map(([path]) => path.slice('node_modules/'.length));
}

const missing = (revision: string, because: string): OlderRelease => ({
  revision,
  folder: undefined,
  because,
  remove: () => undefined,
});

/** Links the packages installed here if they are those of the release, else installs the release's own. */
function providePackages(folder: string): void {
  if (misfits(folder).length === 0) symlinkSync(join(PRESENT, 'node_modules'), join(folder, 'node_modules'));
  else {
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  }
}

/** Checks out a revision into a temporary folder and provides its packages. */
export function checkOut(revision: string): OlderRelease {
  let commit: string;
  try {
    commit = git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`);
  } catch {
    return missing(revision, `the history has no ${revision}`);
  }
  const parent = mkdtempSync(join(tmpdir(), 'redbook-older-'));
  const folder = join(parent, 'redbook');
  const remove = (): void => {
    rmSync(parent, { recursive: true, force: true });
    git('worktree', 'prune');
  };
  git('worktree', 'add', '--detach', '--quiet', folder, commit);
  try {
    providePackages(folder);
  } catch {
    remove();
    return missing(revision, 'npm could not install its packages');
  }
  return { revision, folder, remove };
}
