/**
 * Makes random passwords and keys, and the addresses, of a cluster. Each reader has a folder below FOLDER: the roles,
 * `admin`, `backup`, `redis`, `postgres`, `grafana`, and `queue-redis` where the queues have a server of their own.
 *
 *   node k8s/shared/make-keys.mjs FOLDER [--redis host:port] [--queue-redis host:port] [--database URL]
 *   node k8s/shared/make-keys.mjs FOLDER --rotate-session-key | --forget-previous-key
 *   kubectl get secret redis-users -o json | node k8s/shared/make-keys.mjs FOLDER --secret | kubectl replace -f -
 *
 * With several servers after --redis, for example redis-0:6379,redis-1:6379,redis-2:6379, the engine has copies. They get
 * a user for replication, and their settings in redis/copy.conf; --queue-redis must name another server.
 *
 * A URL of a database without a user gets those of k8s/components/postgres-users, whose passwords postgres/passwords.sql
 * sets. A second run keeps every password, and leads the addresses to the servers of Redis that it names. It gives the
 * users of Redis the rights of this release, and makes what this release
 * has and FOLDER lacks. `--secret` does that to a Kubernetes Secret with a users file: it reads the Secret as JSON and
 * prints the new one. Passwords of new users are written below FOLDER.
 *
 * `--rotate-session-key` makes a new key for sessions and keeps the present one as the previous key;
 * `--forget-previous-key` empties that. Plain Node, without packages.
 */

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    redis: { type: 'string' },
    'queue-redis': { type: 'string' },
    database: { type: 'string' },
    secret: { type: 'boolean', default: false },
    'rotate-session-key': { type: 'boolean', default: false },
    'forget-previous-key': { type: 'boolean', default: false },
  },
});
const [folder] = positionals;
if (folder === undefined) throw new Error('which folder?');
const { redis = 'redis:6379', 'queue-redis': queueRedis = redis } = values;
const hasCopies = redis.includes(',');
if (hasCopies && values['queue-redis'] === undefined) throw new Error('copies need --queue-redis');

const ROLES = ['api', 'stream', 'settlement', 'snapshot', 'operator-api', 'operator'];
const USERS = 'users.acl';
/** The user of Postgres of each role. */
const DATABASE_USERS = {
  migrate: 'redbook_owner',
  settlement: 'redbook_settlement',
  operator: 'redbook_settlement',
  api: 'redbook_api',
  snapshot: 'redbook_api',
  'operator-api': 'redbook_operator_api',
  backup: 'redbook_backup',
};
const PASSWORDS = 'postgres/passwords.sql';
/** A user of Redis that roles of one server have, with the server and the role. */
const OF_ROLE = /^(engine|queue)-([\w-]+)$/;

const random = () => randomBytes(32).toString('hex');
/** @type {(path: string) => boolean} */
const has = (path) => existsSync(join(folder, path));
/** @type {(path: string) => string} */
const read = (path) => readFileSync(join(folder, path), 'utf8').trimEnd();
/** @type {(path: string, text: string) => void} */
const write = (path, text) => {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  // The users of containers differ from this one, so everybody who may enter the folder may read. A server may read the
  // file at any moment, and must not see half of it.
  writeFileSync(`${whole}.new`, `${text}\n`, { mode: 0o644 });
  renameSync(`${whole}.new`, whole);
};
/** Writes a file that is not there yet. @type {(path: string, make: () => string) => void} */
const keep = (path, make) => {
  if (!has(path)) write(path, make());
};

/** @type {(login: string, place: string) => string} */
const urlOf = (login, place) =>
  place.includes(',') ? `redis+copies://${login}@${place}` : `redis://${login}@${place}/0`;

/** A copy is a replica of nobody, until a keeper says what it is. @type {(password: string) => string} */
const copySettings = (password) => `replicaof 127.0.0.1 1
masteruser replica
masterauth ${password}
repl-backlog-size 256mb
repl-backlog-ttl 3600`;

/** Leads the addresses of an earlier run to the servers that this run names. */
function moveUrls() {
  for (const role of ROLES)
    for (const [file, place] of [
      ['redis-url', values.redis],
      ['queue-redis-url', values['queue-redis']],
    ]) {
      const path = `${role}/${file}`;
      const [, login] = (has(path) && /^\S+?:\/\/([^@]+)@/.exec(read(path))) || [];
      if (place !== undefined && login !== undefined) write(path, urlOf(login, place));
    }
}

/** Makes the password of a user, writes it where its reader looks for it, and returns the digest for Redis. */
function newDigest(/** @type {string} */ name) {
  const password = random();
  const [, server, role] = OF_ROLE.exec(name) ?? [];
  const [file, host] = server === 'queue' ? ['queue-redis-url', queueRedis] : ['redis-url', redis];
  if (name === 'replica') write('redis/copy.conf', copySettings(password));
  else if (role === undefined) write(`${name}/redis-password`, password);
  else write(`${role}/${file}`, urlOf(`${name}:${password}`, host));
  return `#${createHash('sha256').update(password).digest('hex')}`;
}

/** @type {(line: string) => string} */
const nameOf = (line) => line.split(' ')[1] ?? '';
const template = readFileSync(new URL(USERS, import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');

/** Returns the digests of the passwords of a users file, by their users. @param {string} present */
const digestsIn = (present) =>
  new Map(
    present.split('\n').map((line) => [
      nameOf(line),
      line
        .match(/ #[0-9a-f]{64}(?= )/g)
        ?.join('')
        .trim(),
    ]),
  );

/**
 * Returns the users of a server with the rights of this release. Users keep the digests that the present file has for
 * them. Lines of users that only the present file knows stay as they are.
 * @param {readonly string[]} servers `engine`, `queue` or both
 * @param {string} present the present file; empty for a new server
 * @param {(name: string) => string} makeDigest
 */
function usersFor(servers, present, makeDigest) {
  const lines = present.split('\n').filter((line) => line.startsWith('user '));
  const known = digestsIn(present);
  const ours = template.flatMap((line) => {
    const name = nameOf(line);
    const [, server, role] = OF_ROLE.exec(name) ?? [];
    if (server !== undefined && !servers.includes(server)) return [];
    if (!line.includes('#SHA256')) return [line];
    // Only an operator adds the users of an all-in-one, and replicas of an engine without copies.
    const isMade =
      name === 'admin' ||
      (name === 'backup' && servers.includes('engine')) ||
      (role !== undefined && ROLES.includes(role)) ||
      (name === 'replica' && hasCopies && servers.includes('engine'));
    const digests = known.get(name) ?? (isMade ? makeDigest(name) : undefined);
    return digests === undefined ? [] : [line.replace('#SHA256', digests)];
  });
  const names = new Set(template.map(nameOf));
  const others = lines.filter((line) => !names.has(nameOf(line)) && !OF_ROLE.test(nameOf(line)));
  return [...ours, ...others].join('\n');
}

/** Servers whose roles a users file has. @type {(present: string) => string[]} */
const serversOf = (present) => {
  const servers = ['engine', 'queue'].filter((server) => `\n${present}`.includes(`\nuser ${server}-`));
  if (servers.length === 0) throw new Error(`no users of Redbook in this ${USERS}`);
  return servers;
};

/** Brings the users file of a folder up to date, or makes it. @type {(path: string, servers: string[]) => void} */
function keepUsers(path, servers, makeDigest = newDigest) {
  const present = has(path) ? read(path) : '';
  write(path, usersFor(present === '' ? servers : serversOf(present), present, makeDigest));
}

function updateSecret() {
  const secret = JSON.parse(readFileSync(0, 'utf8'));
  const present = Buffer.from(secret.data?.[USERS] ?? '', 'base64').toString();
  const updated = usersFor(serversOf(present), present, (name) => {
    process.stderr.write(`${name} is new: its password is below ${folder}\n`);
    return newDigest(name);
  });
  secret.data[USERS] = Buffer.from(`${updated}\n`).toString('base64');
  process.stdout.write(`${JSON.stringify(secret)}\n`);
}

/** Makes the passwords of the users of Postgres as statements that set them, and the URL of each role. */
function makeDatabaseUrls() {
  const users = [...new Set(Object.values(DATABASE_USERS))];
  keep(PASSWORDS, () => users.map((user) => `alter role ${user} password '${random()}';`).join('\n'));
  const passwords = new Map(
    [...read(PASSWORDS).matchAll(/role (\w+) password '(\w+)'/g)].map(([, ...pair]) => pair),
  );
  const database = new URL(values.database ?? 'postgres://postgres:5432/redbook');
  // An installation of an earlier release shares the superuser.
  const shared = `postgres://redbook:${read('postgres/password')}@`;
  for (const [role, username] of Object.entries(DATABASE_USERS)) {
    const file = `${role}/database-url`;
    // pgBackRest takes no URL.
    if (role === 'backup') write('backup/postgres-password', passwords.get(username) ?? '');
    if (has(file) && !read(file).startsWith(shared)) continue;
    // A URL with a user is the one of every role.
    const own = database.username === '' ? { username, password: passwords.get(username) } : {};
    write(file, Object.assign(new URL(database), own).href);
  }
}

function makeAll() {
  keep('postgres/password', random);
  makeDatabaseUrls();
  keep('api/jwt-secret', random);
  keep('api/jwt-secret-previous', () => '');
  keep('grafana/password', random);
  const isShared = queueRedis === redis && !has(`queue-redis/${USERS}`);
  keepUsers(`redis/${USERS}`, isShared ? ['engine', 'queue'] : ['engine']);
  // A user has one password for both servers.
  const digests = digestsIn(read(`redis/${USERS}`));
  if (!isShared) keepUsers(`queue-redis/${USERS}`, ['queue'], (name) => digests.get(name) ?? newDigest(name));
  moveUrls();
}

if (values.secret) updateSecret();
else if (values['rotate-session-key']) {
  write('api/jwt-secret-previous', read('api/jwt-secret'));
  write('api/jwt-secret', random());
} else if (values['forget-previous-key']) write('api/jwt-secret-previous', '');
else makeAll();
