/**
 * A server's clock that a test sets: Debian's libfaketime, preloaded into that one process. Taken from the system
 * or the cache, else fetched without root like the Redis server; where that cannot be, there is none.
 */

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchPackage, findUnpacked } from '../../src/embedded/obtain/debian-package.mjs';

const LIBRARY = 'faketime/libfaketime.so.1';

export interface FakedClock {
  /** What a process needs in its environment to live by this clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** How far it is ahead of the real one, from now on; it runs at the same pace. */
  setAhead(seconds: number): void;
  remove(): void;
}

/** @returns undefined where no library can be had */
export async function fakedClock(): Promise<FakedClock | undefined> {
  const library =
    libraryIn('/usr/lib') ??
    findUnpacked('libfaketime', libraryBelow) ??
    (await fetchLibrary().catch(() => undefined));
  if (library === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'redbook-clock-'));
  const file = join(folder, 'time');
  const setAhead = (seconds: number): void =>
    writeFileSync(file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`);
  setAhead(0);
  return {
    environment: {
      // The C library too, so that its allocator comes before any other: jemalloc asks for the time before
      // libfaketime is ready to tell it, and neither gets out of that.
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

/** The library in a folder of Debian's, where each architecture has one of its own. */
function libraryIn(libraries: string): string | undefined {
  if (!existsSync(libraries)) return undefined;
  const folders = readdirSync(libraries).filter((name) => name.includes('-linux-'));
  return folders.map((name) => join(libraries, name, LIBRARY)).find((file) => existsSync(file));
}

const fetchLibrary = (): Promise<string> =>
  fetchPackage({ name: 'libfaketime', packages: ['libfaketime'], look: libraryBelow });
