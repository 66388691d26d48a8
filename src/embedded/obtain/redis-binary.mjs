/** Obtains the Redis server; Redis has no portable npm package. Plain Node: used before anything is installed. */

import { chmodSync, copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { obtainProgram } from './program.mjs';

/** @typedef {import('./program.mjs').Program} RedisBinary */

const OLDEST_MAJOR = 7;

/** @type {import('./program.mjs').Wanted} */
const REDIS = {
  name: 'redis',
  commands: ['redis-server', 'valkey-server'],
  versionFlag: '--version',
  versionOf(output) {
    const version = /\bv=(\d+\.\d+\.\d+)/.exec(output)?.[1];
    return version && Number.parseInt(version, 10) >= OLDEST_MAJOR ? version : undefined;
  },
  packages: ['redis-tools', 'valkey-tools'],
  unpacked: 'redis-server',
  arrange: placeServer,
};

/**
 * @param {(line: string) => void} [onProgress]
 * @returns {Promise<RedisBinary>}
 * @throws with what to install, when there is none and none can be fetched
 */
export async function obtainRedis(onProgress = () => {}) {
  try {
    return await obtainProgram(REDIS, onProgress);
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw new Error(
      [
        `No redis-server or valkey-server ${OLDEST_MAJOR} or newer was found, and none could be fetched (${why}).`,
        'Only systems with apt have it fetched. Install one and start again:',
        '  Debian, Ubuntu   sudo apt-get install redis-server',
        '  Fedora           sudo dnf install valkey',
        '  Alpine           sudo apk add redis',
        '  macOS            brew install redis',
        'or name servers of your own in REDIS_URL and DATABASE_URL.',
      ].join('\n'),
    );
  }
}

/**
 * Debian ships the server inside the tools package under the name of its dump checker; the server's own
 * package only links to it. The program looks at the name it is called by.
 * @param {string} root
 */
export function placeServer(root) {
  const candidates = ['redis-server', 'redis-check-rdb', 'valkey-server', 'valkey-check-rdb'];
  const program = candidates.map((name) => join(root, 'usr/bin', name)).find((file) => existsSync(file));
  if (!program) throw new Error("the distribution's package holds no server");
  copyFileSync(program, join(root, 'redis-server'));
  chmodSync(join(root, 'redis-server'), 0o755);
  rmSync(join(root, 'usr/bin'), { recursive: true });
}
