/** The private Redis: its settings lose nothing that was answered, and its data lies below the data folder. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { RedisBinary } from '../obtain/redis-binary.mjs';
import { serverEnvironment } from '../obtain/server-environment.mjs';
import type { ServerProgram } from './supervise.ts';

const PROBE_TIMEOUT_MS = 2_000;

/**
 * Writes the settings below `path` and returns how to run a server on them.
 * @param options.path folder of the server alone; created when missing
 * @param options.user user that the check for readiness signs in as, by `password`
 * @param options.settings further lines of the configuration
 */
export function redisProgram(
  binary: RedisBinary,
  options: {
    path: string;
    logFile: string;
    port: number;
    name?: string;
    user?: string;
    password: string;
    settings?: readonly string[];
  },
): ServerProgram {
  const { path, logFile, port, name = 'Redis', user = 'default', password } = options;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const settings = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    'dir .',
    'daemonize no',
    'logfile ""',
    'save ""',
    'appendonly yes',
    'appendfsync always',
    'maxmemory-policy noeviction',
    // Small hashes would be stored as lists, where a missing field costs a walk of the list: a quarter of the cost of
    // placing an order.
    'hash-max-listpack-entries 0',
    ...(options.settings ?? []),
  ];
  // Written to a file, because everybody on the machine can read a command line.
  writeFileSync(join(path, 'redis.conf'), `${settings.join('\n')}\n`, { mode: 0o600 });
  return {
    name,
    command: binary.command,
    args: ['redis.conf'],
    env: serverEnvironment(binary.libraryPath),
    cwd: path,
    stopSignal: 'TERM',
    logFile,
    isReady: () => answersPing(port, user, password),
  };
}

/** Further lines of the configuration of a copy, which is a replica of nobody until a keeper says what it is. */
export const copySettings = (password: string): string[] => [
  'replicaof 127.0.0.1 1',
  `masterauth ${password}`,
  'repl-diskless-sync-delay 0',
];

export const redisUrl = (port: number, password: string): string =>
  `redis://:${password}@127.0.0.1:${port}/0`;

export const copiesUrl = (ports: readonly number[], password: string): string =>
  `redis+copies://:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;

/** A server that is still loading its data answers PING with an error. */
function answersPing(port: number, user: string, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    let reply = '';
    const socket = connect({ port, host: '127.0.0.1', timeout: PROBE_TIMEOUT_MS });
    const done = (ready: boolean): void => {
      socket.destroy();
      resolve(ready);
    };
    socket.once('connect', () => socket.write(`AUTH ${user} ${password}\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      reply += chunk.toString('latin1');
      if (reply.startsWith('+OK\r\n+PONG\r\n')) done(true);
      else if (reply.includes('-')) done(false);
    });
    socket.once('error', () => done(false));
    socket.once('timeout', () => done(false));
    socket.once('close', () => done(false));
  });
}
