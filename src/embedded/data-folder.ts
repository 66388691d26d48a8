/** What the embedded servers keep beside their data: a lock, their secrets, and where they run. */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

export interface Secrets {
  readonly redisPassword: string;
  readonly postgresPassword: string;
  readonly jwtSecret: string;
}

/** Where the servers are, as last written. Ports are kept when they stop, so that they find them again. */
export interface RunRecord {
  /** The all-in-one that runs them; absent while nothing is ready. */
  owner?: ProcessIdentity;
  redisUrl?: string;
  databaseUrl?: string;
  redis?: ServerRecord;
  postgres?: ServerRecord;
}

export interface ServerRecord {
  readonly port: number;
  readonly process?: ProcessIdentity | undefined;
}

export interface DataFolder {
  readonly path: string;
  readonly secrets: Secrets;
  readonly record: RunRecord;
  /** Writes the record. */
  save(): void;
  release(): void;
}

const lockFile = (path: string): string => join(path, 'lock');
const secretsFile = (path: string): string => join(path, 'secrets.json');
const recordFile = (path: string): string => join(path, 'servers.json');

/** @throws when another process uses the folder, or the folder cannot be written */
export function openDataFolder(path: string): DataFolder {
  try {
    mkdirSync(path, { recursive: true });
    lock(path);
    const record = readJson<RunRecord>(recordFile(path)) ?? {};
    delete record.owner;
    const folder: DataFolder = {
      path,
      secrets: secretsOf(path),
      record,
      save: () => writeWhole(recordFile(path), JSON.stringify(record), renameSync),
      release: () => rmSync(lockFile(path), { force: true }),
    };
    return folder;
  } catch (error) {
    if (!isFileError(error, 'EACCES') && !isFileError(error, 'EROFS') && !isFileError(error, 'EPERM'))
      throw error;
    throw new Error(`The data folder ${path} cannot be used (${error.message}); name another in DATA_DIR.`);
  }
}

/** @returns undefined when no all-in-one runs on the folder */
export function readRunning(path: string): { record: RunRecord; secrets: Secrets } | undefined {
  const record = readJson<RunRecord>(recordFile(path));
  const secrets = readJson<Secrets>(secretsFile(path));
  return record?.owner && secrets && isAlive(record.owner) ? { record, secrets } : undefined;
}

function lock(path: string): void {
  const file = lockFile(path);
  const mine = identify(process.pid);
  for (;;) {
    try {
      writeWhole(file, JSON.stringify(mine), linkSync);
      return;
    } catch (error) {
      if (!isFileError(error, 'EEXIST')) throw error;
    }
    const holder = readJson<ProcessIdentity>(file);
    if (holder && isAlive(holder)) {
      throw new Error(
        `Redbook already runs on the data folder ${path} (process ${holder.pid}). Stop it first, or name another folder in DATA_DIR.`,
      );
    }
    removeStale(file, holder);
  }
}

/** Two who find the same dead holder at once must not remove each other's new lock: a rename has one winner. */
function removeStale(file: string, holder: ProcessIdentity | undefined): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    const moved = readJson<ProcessIdentity>(aside);
    if (moved && moved.pid !== holder?.pid && isAlive(moved)) linkSync(aside, file);
  } catch (error) {
    if (!isFileError(error, 'ENOENT') && !isFileError(error, 'EEXIST')) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Made once; whoever loses them loses the databases' passwords and every session. */
function secretsOf(path: string): Secrets {
  const kept = readJson<Secrets>(secretsFile(path));
  if (kept) return kept;
  const random = (): string => randomBytes(32).toString('hex');
  const made: Secrets = { redisPassword: random(), postgresPassword: random(), jwtSecret: random() };
  writeWhole(secretsFile(path), JSON.stringify(made), renameSync);
  return made;
}

/** Readers see the old file or the new one, never a half; nobody else can read it. */
function writeWhole(file: string, content: string, place: (from: string, to: string) => void): void {
  const draft = `${file}.${process.pid}.draft`;
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    writeSync(descriptor, content);
    fsyncSync(descriptor);
    closeSync(descriptor);
    place(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @returns undefined when the file is not there or does not hold JSON */
function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError || isFileError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isFileError(error: unknown, code: string): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && error.code === code;
}
