/** The data folder of the embedded servers: a lock, their secrets, and their addresses. */

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { StartRefusal } from '../../domain/errors.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

interface Secrets {
  readonly redisPassword: string;
  readonly postgresPassword: string;
  readonly jwtSecret: string;
}

/** Address of a running service. */
export interface ServiceAddress {
  /** Like `http://localhost:8080`. */
  readonly url: string;
  /** A web host that a sign-in message may name. */
  readonly webHost: string;
}

/** Addresses of the servers, as last written. Ports are kept after a stop, so that the servers take them again. */
interface RunRecord {
  /** The all-in-one that runs the servers; absent until they are ready. */
  owner?: ProcessIdentity;
  /** Absent until the owner serves requests. */
  service?: ServiceAddress;
  redisUrl?: string;
  /** Absent if the queue is on the engine's Redis. */
  queueRedisUrl?: string;
  databaseUrl?: string;
  /** Number of copies that the engine of the folder has; absent if it has none. */
  copies?: number;
  redis?: ServerRecord;
  [copy: `redis-${number}`]: ServerRecord | undefined;
  queue?: ServerRecord;
  postgres?: ServerRecord;
}

/** Name of a server, of its folder and of its log. */
export type OwnServerName = 'redis' | `redis-${number}` | 'queue' | 'postgres';

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

const OWNER_ONLY = 0o600;

const lockFile = (path: string): string => join(path, 'lock');
const secretsFile = (path: string): string => join(path, 'secrets.json');
const recordFile = (path: string): string => join(path, 'servers.json');

/**
 * Creates the folder if it is missing. Nobody else may list or read a folder that is ours, which means created now or
 * holding our secrets. The user whom root runs Postgres as must be able to pass through it.
 */
export function makeDataFolder(path: string): void {
  const isMade = mkdirSync(path, { recursive: true }) !== undefined;
  if (!isMade && !existsSync(secretsFile(path))) return;
  const isRoot = process.getuid?.() === 0;
  if (isRoot || statSync(path).uid === process.getuid?.()) chmodSync(path, isRoot ? 0o711 : 0o700);
}

/**
 * @throws StartRefusal when another process uses the folder, the folder holds other things, or it cannot be written
 */
export function openDataFolder(path: string): DataFolder {
  try {
    makeDataFolder(path);
    checkContents(path);
    lock(path);
    const record = readJson<RunRecord>(recordFile(path)) ?? {};
    delete record.owner;
    delete record.service;
    const folder: DataFolder = {
      path,
      secrets: secretsOf(path),
      record,
      save: () => writeForOwner(recordFile(path), record),
      release: () => rmSync(lockFile(path), { force: true }),
    };
    return folder;
  } catch (error) {
    throw unusable(path, error);
  }
}

const FILE_TROUBLES: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file',
  ENOTDIR: 'it is a file, or lies below one',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  ENOENT: 'it cannot be made there',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

/** Turns an error of the file system into a sentence about the data folder; other errors keep their own message. */
export function unusable(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const why = FILE_TROUBLES[String(error.code)] ?? error.message;
  return new StartRefusal(`The data folder ${path} cannot be used: ${why}. Name another in DATA_DIR.`, 2, {
    cause: error,
  });
}

/** Like `unusable`, for commands that only read. */
export function unreadable(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const isForbidden = error.code === 'EACCES' || error.code === 'EPERM';
  const why = isForbidden ? 'it belongs to another user, and only that user may read it' : error.message;
  return new StartRefusal(`The data folder ${path} cannot be read: ${why}. See DATA_DIR.`, 2, {
    cause: error,
  });
}

/** Names that a data folder of Redbook may hold, with drafts of its files that an interrupted write left behind. */
const OURS =
  /^(lock|secrets\.json|servers\.json|(redis|redis-\d|queue|postgres)(\.log)?|redbook.*\.log.*|.+\.draft|(lock|secrets\.json|servers\.json)\.\d+)$/;
/** Names that systems leave in any folder. */
const ANYWHERE = /^(lost\+found|\.DS_Store|\.gitignore|\.gitkeep|\.keep)$/;

/** Refuses a folder with somebody else's files, and refuses to create new passwords for data that already has some. */
function checkContents(path: string): void {
  const names = readdirSync(path);
  if (names.includes('secrets.json')) {
    if (isSecrets(readJson(secretsFile(path)))) return;
    throw new StartRefusal(
      `The file secrets.json in the data folder ${path} is damaged or not Redbook's. Restore it, or name another folder in DATA_DIR.`,
      2,
    );
  }
  const strange = names.find((name) => !OURS.test(name) && !ANYWHERE.test(name));
  if (strange !== undefined)
    throw new StartRefusal(
      `The data folder ${path} holds other things (${strange}) and no data of Redbook. Name an empty folder, or a new one, in DATA_DIR.`,
      2,
    );
  const kept = names.find((name) => /^(redis|postgres)/.test(name) && !name.endsWith('.log'));
  if (kept !== undefined)
    throw new StartRefusal(
      `The data folder ${path} holds ${kept} without secrets.json, which has the passwords of the data. Restore that file, or name another folder in DATA_DIR.`,
      2,
    );
}

const isSecrets = (kept: unknown): boolean =>
  ['redisPassword', 'postgresPassword', 'jwtSecret'].every(
    (name) => typeof (kept as Record<string, unknown> | undefined)?.[name] === 'string',
  );

/** @returns undefined when no all-in-one runs on the folder */
export function readRunning(path: string): { record: RunRecord; secrets: Secrets } | undefined {
  const record = readJson<RunRecord>(recordFile(path));
  const secrets = readJson<Secrets>(secretsFile(path));
  return record?.owner && secrets && isAlive(record.owner) ? { record, secrets } : undefined;
}

/**
 * Locks the folder with a file that names this process. A link appears with its whole content, or fails if the file
 * exists.
 *
 * The package proper-lockfile is not used, because it does not know who holds a lock and detects a dead holder by the
 * age of the file. After a crash, it would refuse the next start for ten seconds. A holder suspended for that long
 * would lose the folder to a second start while its servers still run. The refusal could not name the process either.
 */
function lock(path: string): void {
  const file = lockFile(path);
  const draft = `${file}.${process.pid}.draft`;
  const mine = identify(process.pid);
  for (;;) {
    try {
      writeFileSync(draft, JSON.stringify(mine), { mode: OWNER_ONLY });
      linkSync(draft, file);
      return;
    } catch (error) {
      if (!isFileError(error, 'EEXIST')) throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    const holder = readJson<ProcessIdentity>(file);
    if (holder && isAlive(holder)) {
      throw new StartRefusal(
        `Redbook already runs on the data folder ${path} (process ${holder.pid}). Stop it first, or name another folder in DATA_DIR.`,
        1,
      );
    }
    removeStale(file, holder);
  }
}

/**
 * Removes the lock of a dead holder. Two processes that find it at once must not remove each other's new lock: a rename
 * has one winner.
 */
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

/** Creates the secrets once. Losing them means losing the databases' passwords and every session. */
function secretsOf(path: string): Secrets {
  const kept = readJson<Secrets>(secretsFile(path));
  if (kept) return kept;
  const random = (): string => randomBytes(32).toString('hex');
  const made: Secrets = { redisPassword: random(), postgresPassword: random(), jwtSecret: random() };
  writeForOwner(secretsFile(path), made);
  return made;
}

/** Readers see the old file or the new one, never a part. Only the owner can read it. */
const writeForOwner = (file: string, content: Secrets | RunRecord): void =>
  writeFileAtomic.sync(file, JSON.stringify(content), { mode: OWNER_ONLY });

/** @returns undefined when the file is not there or does not hold JSON */
function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError || isFileError(error, 'ENOENT') || isFileError(error, 'ENOTDIR'))
      return undefined;
    throw error;
  }
}

function isFileError(error: unknown, code: string): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && error.code === code;
}
