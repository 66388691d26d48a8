/**
 * Checks that Redis lets a process do what its role does. Redis refuses a command in the middle of a script after the
 * writes before it, so a process checks its rights before it uses them.
 */

import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { OperatorRefusal } from '../domain/errors.ts';
import { loadScript } from '../redis/lua.ts';
import { LoadedCall } from '../redis/script-call.ts';
import { KEYS } from './keys.ts';
import { CHECK_RIGHTS } from './scripts.ts';

const USERS = 'k8s/shared/users.acl';
const usersFile = readFileSync(new URL(`../../${USERS}`, import.meta.url), 'utf8');

/** Rights that a process does without, with a warning, or that only another command or a cluster needs. */
const OPTIONAL = ['config|get', 'bgrewriteaof', 'client|setname', 'client|list', 'cluster|slots'];
/** Rights that only an engine with copies needs. */
const OF_COPIES = [
  'role',
  'wait',
  'hincrby',
  'replicaof',
  'watch',
  'unwatch',
  'multi',
  'exec',
  'client|kill',
];
/** A script is running, and Redis looks for the keys of these behind the arguments of the check. */
const RUNNING = ['eval', 'evalsha', 'eval_ro', 'evalsha_ro'];
/** Subcommands that the scripts run of commands that the file grants as a whole. */
const SUBCOMMANDS: Readonly<Record<string, string>> = { xinfo: 'xinfo stream' };
const MAX_NAMED = 3;

/** A right is missing. The message names it, and the file to load. */
export class MissingRights extends OperatorRefusal {
  constructor(refused: string) {
    super('MISSING_RIGHTS', `Redis refuses its user ${refused}: load ${USERS} of this release (ACL LOAD)`);
  }
}

/**
 * @param hasCopies false: rights that only copies need may be missing
 * @throws MissingRights unless the connection may do what the file grants to the user; no user, no check
 */
export async function checkRights(redis: Redis, user: string, hasCopies = false): Promise<void> {
  const script = new LoadedCall(CHECK_RIGHTS, loadScript(CHECK_RIGHTS.name));
  const asked = script.run(redis, { keys: [KEYS.engine], commands: commandsOf(user, hasCopies) });
  const refused = await asked.catch((error) => {
    throw namedRight(error);
  });
  if (refused.length === 0) return;
  const more = refused.length > MAX_NAMED ? ` and ${refused.length - MAX_NAMED} more` : '';
  throw new MissingRights(`(as ${user}) ${refused.slice(0, MAX_NAMED).join(', ')}${more}`);
}

/** Returns a command for each command and for each key that a user is granted. */
function commandsOf(user: string, hasCopies: boolean): string[] {
  const line = usersFile.split('\n').find((one) => one.startsWith(`user ${user} `)) ?? '';
  const keys = [...line.matchAll(/ (%R)?~(\S+)/g)].map(([, reads, key]) => ({ reads, key }));
  const [first] = keys;
  const left = hasCopies ? OPTIONAL : [...OPTIONAL, ...OF_COPIES];
  const granted = [...line.matchAll(/ \+(\S+)/g)].map(([, name]) => name!);
  return [
    ...granted
      .filter((name) => !left.includes(name) && !RUNNING.includes(name))
      .map((name) => `${(SUBCOMMANDS[name] ?? name).replace('|', ' ')} ${first?.key}`),
    ...keys
      .filter(({ key }) => hasCopies || key !== KEYS.copies)
      .map(({ reads, key }) => `${reads === undefined ? 'hset' : 'hget'} ${key}`),
  ];
}

/** The right that an error of Redis names, in a script or outside. */
const REFUSED = /(?:^NOPERM|ACL failure in script:) (.+?)\.?(?: script: .*)?$/;

/** Returns the refusal that tells a missing right, or the error itself if it is about something else. */
export function namedRight(error: unknown): unknown {
  const [, said] = REFUSED.exec(error instanceof Error ? error.message : '') ?? [];
  return said === undefined ? error : new MissingRights(`a right (${said})`);
}
