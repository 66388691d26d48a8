/**
 * Checks that Redis lets a process do what its role does. Redis refuses a command in the middle of a script after the
 * writes before it, so a process checks its rights before it uses them.
 */

import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { OperatorRefusal } from '../domain/errors.ts';
import { loadScript } from '../redis/lua.ts';
import { LoadedCall } from '../redis/script-call.ts';
import { KEYS, LEAVING_CHANNEL } from './keys.ts';
import { CHECK_RIGHTS } from './scripts.ts';

const USERS = 'k8s/shared/users.acl';
const usersFile = readFileSync(new URL(`../../${USERS}`, import.meta.url), 'utf8');

/** Rights of a user, as `ACL LIST` and the file write them: commands, keys, channels, and a login without a password. */
const GIVES = /^(?:[+~%&]|nopass$)/;
/** Redis writes commands of a user as categories where it can, in another way in each version; of these the file has none. */
const CATEGORY = /^\+@(?!all$|admin$|dangerous$)/;
const grantsOf = (line: string): string[] =>
  line
    .replaceAll(/[()]/g, ' ')
    .split(' ')
    .filter((token) => GIVES.test(token) && !CATEGORY.test(token));

/** Rights that the file gives to each user that it makes. */
const RELEASE_GRANTS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...usersFile.matchAll(/^user (\S+) .*/gm)].map(([line, name]) => [name!, new Set(grantsOf(line))]),
);

export const isOfRelease = (user: string): boolean => RELEASE_GRANTS.has(user);

/**
 * Returns what a user may do beyond the file of the release; `undefined` for one that may not log in.
 * @param line of `ACL LIST`
 */
export function furtherGrants(
  line: string,
): { readonly name: string; readonly grants: string[] } | undefined {
  const [, name, state] = line.split(' ');
  if (state === 'off') return undefined;
  const given = RELEASE_GRANTS.get(name!);
  return { name: name!, grants: grantsOf(line).filter((grant) => given?.has(grant) !== true) };
}

/** Rights that a process does without, with a warning, or that only another command or a cluster needs. */
const OPTIONAL = ['config|get', 'bgrewriteaof', 'client|setname', 'client|list', 'cluster|slots'];
/** Rights that only an engine with copies needs. */
const OF_COPIES = ['role', 'wait', 'replicaof', 'watch', 'unwatch', 'multi', 'exec', 'client|kill'];
/** A script is running, and Redis looks for the keys of these behind the arguments of the check. */
const RUNNING = ['eval', 'evalsha', 'eval_ro', 'evalsha_ro'];
/** Commands on channels. All others are on keys. */
const ON_CHANNELS = ['subscribe', 'unsubscribe', 'publish'];
/** Words before the key of commands that need some. */
const WORDS: Readonly<Record<string, string>> = { xinfo: 'xinfo stream', xread: 'xread block 0 streams' };
/** Reads that change nothing, so that a user who may run no script can try them. */
const HARMLESS: readonly (readonly [right: string, ...after: readonly string[]])[] = [
  ['hget', 'field'],
  ['exists'],
];
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
  const line = usersFile.split('\n').find((one) => one.startsWith(`user ${user} `));
  if (line === undefined) return;
  const groups = hasCopies ? groupsOf(line) : groupsOf(line).flatMap(withoutCopies);
  const asked = line.includes(' +eval ') ? askScript(redis, groups) : tryReads(redis, groups);
  const refused = await asked.catch((error) => {
    throw namedRight(error);
  });
  if (refused.length === 0) return;
  const more = refused.length > MAX_NAMED ? ` and ${refused.length - MAX_NAMED} more` : '';
  throw new MissingRights(`(as ${user}) ${refused.slice(0, MAX_NAMED).join(', ')}${more}`);
}

/** Commands that a user may run on keys and channels. A line has one such group, and one more in each parenthesis. */
interface RightsGroup {
  readonly granted: readonly string[];
  readonly keys: readonly { readonly readOnly: boolean; readonly key: string }[];
  readonly channels: readonly string[];
}

const groupsOf = (line: string): RightsGroup[] =>
  line
    .split(/[()]/)
    .map((group) => ` ${group}`)
    .map((group) => ({
      granted: [...group.matchAll(/ \+(\S+)/g)].map(([, name]) => name!),
      keys: [...group.matchAll(/ (%R)?~(\S+)/g)].map(([, reads, key]) => ({
        readOnly: reads !== undefined,
        key: key!,
      })),
      channels: [...group.matchAll(/ &(\S+)/g)].map(([, channel]) => channel!),
    }));

const withoutCopies = ({ granted, keys, channels }: RightsGroup): RightsGroup[] =>
  channels.includes(LEAVING_CHANNEL)
    ? []
    : [
        {
          granted: granted.filter((name) => !OF_COPIES.includes(name)),
          keys: keys.filter(({ key }) => key !== KEYS.copies && key !== KEYS.rounds),
          channels,
        },
      ];

async function askScript(redis: Redis, groups: readonly RightsGroup[]): Promise<string[]> {
  const script = new LoadedCall(CHECK_RIGHTS, loadScript(CHECK_RIGHTS.name));
  const [first] = groups.flatMap(({ keys }) => keys);
  return script.run(redis, { keys: [first!.key], commands: groups.flatMap(commandsOf) });
}

/** Returns a command for each command and for each key that a group grants. */
function commandsOf({ granted, keys, channels }: RightsGroup): string[] {
  const [first] = keys;
  return [
    ...granted
      .filter((name) => !OPTIONAL.includes(name) && !RUNNING.includes(name))
      .map((name) => {
        const on = ON_CHANNELS.includes(name) ? channels[0] : first?.key;
        return `${(WORDS[name] ?? name).replace('|', ' ')} ${on}`;
      }),
    ...keys.map(({ readOnly, key }) => `${readOnly ? 'hget' : 'hset'} ${key}`),
  ];
}

/** Runs the harmless reads that a user without scripts is granted. The reply of Redis names the one that it refuses. */
async function tryReads(redis: Redis, groups: readonly RightsGroup[]): Promise<string[]> {
  for (const { granted, keys } of groups)
    for (const [right, ...after] of HARMLESS)
      if (granted.includes(right)) for (const { key } of keys) await redis.call(right, key, ...after);
  return [];
}

/** The right that an error of Redis names, in a script or outside. */
const REFUSED = /(?:^NOPERM|ACL failure in script:) (.+?)\.?(?: script: .*)?$/;

/** Returns the refusal that tells a missing right, or the error itself if it is about something else. */
export function namedRight(error: unknown): unknown {
  const [, said] = REFUSED.exec(error instanceof Error ? error.message : '') ?? [];
  return said === undefined ? error : new MissingRights(`a right (${said})`);
}
