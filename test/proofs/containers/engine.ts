/**
 * Copies the repository as `git clone` would under umask 077, and runs commands against a container engine: `docker`, or
 * the commands in DOCKER, DOCKER_COMPOSE and DOCKER_IN.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Inside the repository, so that an engine that can see only this folder sees it, and `node` finds the packages. */
const FOLDER = join(ROOT, 'node_modules/.cache/redbook-containers');

/** Everything that the image is built from, and what else the cluster and the guides need. */
const PARTS = [
  ...readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1)),
  ...[
    '.dockerignore',
    'Dockerfile',
    'README.md',
    'docker-compose.yml',
    'docker-compose.ha.yml',
    'docker-compose.backup.yml',
    'docs',
    'k8s',
  ],
];

export interface Checkout {
  readonly folder: string;
  readonly composeFile: string;
  write(path: string, text: string): void;
  read(path: string): string;
  remove(): void;
}

export function makeCheckout(): Checkout {
  rmSync(FOLDER, { recursive: true, force: true });
  for (const part of PARTS) cpSync(join(ROOT, part), join(FOLDER, part), { recursive: true });
  close(FOLDER);
  return {
    folder: FOLDER,
    composeFile: join(FOLDER, 'docker-compose.yml'),
    write(path, text) {
      mkdirSync(dirname(join(FOLDER, path)), { recursive: true });
      writeFileSync(join(FOLDER, path), text, { mode: 0o600 });
    },
    read: (path) => readFileSync(join(FOLDER, path), 'utf8'),
    remove: () => rmSync(FOLDER, { recursive: true, force: true }),
  };
}

/** Restricts the files to their owner, as umask 077 does. */
function close(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
}

const MAX_COMMAND_MS = 600_000;

export interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Engine {
  docker(...args: string[]): Promise<Ended>;
  compose(...args: string[]): Promise<Ended>;
  /** Runs a shell script whose `docker`, `npm run redbook`, `node` and `curl` reach the cluster. */
  script(text: string, folder: string, env?: NodeJS.ProcessEnv): Promise<Ended>;
  /** Starts a program in a network where 127.0.0.1:8080 is the cluster's balancer. */
  beside(...command: string[]): ChildProcess;
}

/** @param env Compose's environment: its file, its project and the settings. It is read for each command. */
export function openEngine(env: NodeJS.ProcessEnv): Engine {
  const {
    DOCKER = 'docker',
    DOCKER_COMPOSE = `${DOCKER} compose`,
    DOCKER_IN = '',
  } = process.env as Record<string, string | undefined>;
  const given = (): NodeJS.ProcessEnv => ({ ...process.env, ...env });
  const run = (command: string, args: readonly string[]): Promise<Ended> =>
    ended(spawn('sh', ['-c', `${command} "$@"`, 'sh', ...args], { env: given(), stdio: 'pipe' }));
  const functions = [
    `docker() { if [ "$1" = compose ]; then shift; ${DOCKER_COMPOSE} "$@"; else ${DOCKER} "$@"; fi; }`,
    // npm run -s redbook -- …
    'npm() { shift 4; docker compose run --rm -T operator "$@"; }',
    'redbook() { docker compose run --rm -T operator "$@"; }',
    'admin() { docker compose run --rm -T admin "$@"; }',
    `node() { ${DOCKER_IN} node "$@"; }`,
    `curl() { ${DOCKER_IN} curl --fail-with-body "$@"; }`,
  ].join('\n');
  return {
    docker: (...args) => run(DOCKER, args),
    compose: (...args) => run(DOCKER_COMPOSE, args),
    script: (text, folder, own = {}) =>
      ended(
        spawn('sh', ['-ec', `${functions}\n${text}`], {
          cwd: folder,
          env: { ...given(), ...own },
          stdio: 'pipe',
        }),
      ),
    beside: (...command) =>
      spawn('sh', ['-c', `exec ${DOCKER_IN} "$@"`, 'sh', ...command], {
        stdio: 'pipe',
      }),
  };
}

export function ended(child: ChildProcess): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), MAX_COMMAND_MS);
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ status: 127, stdout, stderr: error.message }));
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({ status: code ?? 137, stdout, stderr });
    });
  });
}
