/**
 * Makes random passwords and keys, and the addresses, of a cluster. Each reader has a folder below FOLDER: the roles,
 * `redis`, `postgres`, `grafana`, and `queue-redis` where the queues have a server of their own.
 *
 *   node k8s/shared/make-keys.mjs FOLDER [--redis host:port] [--queue-redis host:port] [--database URL]
 *   node k8s/shared/make-keys.mjs FOLDER --rotate-session-key | --forget-previous-key
 *
 * A second run keeps what is there and makes nothing. `--rotate-session-key` makes a new key for sessions and keeps the
 * present one as the previous key; `--forget-previous-key` empties that. Plain Node, without packages.
 */

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    redis: { type: 'string', default: 'redis:6379' },
    'queue-redis': { type: 'string' },
    database: { type: 'string' },
    'rotate-session-key': { type: 'boolean', default: false },
    'forget-previous-key': { type: 'boolean', default: false },
  },
});
const [folder] = positionals;
if (folder === undefined) throw new Error('which folder?');
const random = () => randomBytes(32).toString('hex');
/** @type {(path: string, text: string) => void} */
const write = (path, text) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  // The users of containers differ from this one, so everybody who may enter the folder may read.
  writeFileSync(join(folder, path), `${text}\n`, { mode: 0o644 });
};

if (existsSync(join(folder, 'redis/users.acl'))) {
  if (values['rotate-session-key']) {
    write('api/jwt-secret-previous', readFileSync(join(folder, 'api/jwt-secret'), 'utf8').trim());
    write('api/jwt-secret', random());
  }
  if (values['forget-previous-key']) write('api/jwt-secret-previous', '');
  process.exit();
}

const { redis, 'queue-redis': queueRedis = redis } = values;
const passwords = { postgres: random(), jwt: random(), grafana: random() };
const database = values.database ?? `postgres://redbook:${passwords.postgres}@postgres:5432/redbook`;

const ROLES = ['api', 'stream', 'settlement', 'snapshot', 'operator'];

for (const role of ['migrate', ...ROLES]) if (role !== 'stream') write(`${role}/database-url`, database);
write('api/jwt-secret', passwords.jwt);
write('api/jwt-secret-previous', '');
write('postgres/password', passwords.postgres);
write('grafana/password', passwords.grafana);

/** The users without a password, and those of the roles. Each role alone gets its password, and Redis the digest. */
const users = readFileSync(new URL('users.acl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .flatMap((line) => {
    const [, name = ''] = line.split(' ');
    const [server, role = ''] = name.split('-');
    if (!line.includes('SHA256')) return [{ server: 'any', line }];
    if (!ROLES.includes(role)) return [];
    const password = random();
    const [file, host] = server === 'queue' ? ['queue-redis-url', queueRedis] : ['redis-url', redis];
    write(`${role}/${file}`, `redis://${name}:${password}@${host}/0`);
    const digest = createHash('sha256').update(password).digest('hex');
    return [{ server, line: line.replace('SHA256', digest) }];
  });
/** @param {string} other */
const without = (other) =>
  users
    .filter(({ server }) => server !== other)
    .map(({ line }) => line)
    .join('\n');
const isShared = queueRedis === redis;
if (!isShared) write('queue-redis/users.acl', without('engine'));
// Written last, because a second run takes this file as the sign that all of them exist.
write('redis/users.acl', without(isShared ? '' : 'queue'));
