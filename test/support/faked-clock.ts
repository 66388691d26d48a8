/**
 * Sets the clock of a server with Debian's libfaketime, preloaded into that process only. The library comes from the
 * system or the cache, or is downloaded without root like the Redis server. Without the library there is no faked
 * clock.
 */

import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchPackage, findUnpacked } from '../../src/embedded/obtain/debian-package.mjs';

const LIBRARY = 'faketime/libfaketime.so.1';

export interface FakedClock {
  /** Environment variables of a process that uses this clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets the clock ahead of the real one by this much from now on. Its speed stays the same. */
  setAhead(seconds: number): void;
  remove(): void;
}

/** @returns undefined if the library is not available */
export async function fakedClock(): Promise<FakedClock | undefined> {
  const library =
    libraryIn('/usr/lib') ??
    findUnpacked('libfaketime', libraryBelow) ??
    (await fetchLibrary().catch(() => undefined));
  if (library === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'redbook-clock-'));
  const file = join(folder, 'time');
  // Replaced as a whole, because the library may read the file at any moment.
  const setAhead = (seconds: number): void => {
    writeFileSync(`${file}.next`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`);
    renameSync(`${file}.next`, file);
  };
  setAhead(0);
  return {
    environment: {
      // The C library comes first so that its allocator is used: jemalloc asks for the time before libfaketime is
      // ready, which deadlocks both.
      LD_PRELOAD: `${library}:libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    setAhead,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const libraryBelow = (root: string): string | undefined => libraryIn(join(root, 'usr/lib'));

/** Finds the library in Debian's folder, where each architecture has its own subfolder. */
function libraryIn(libraries: string): string | undefined {
  if (!existsSync(libraries)) return undefined;
  const folders = readdirSync(libraries).filter((name) => name.includes('-linux-'));
  return folders.map((name) => join(libraries, name, LIBRARY)).find((file) => existsSync(file));
}

const fetchLibrary = (): Promise<string> =>
  fetchPackage({ name: 'libfaketime', packages: ['libfaketime'], look: libraryBelow });
