/** Runs commands against a container engine: `docker`, or the commands in DOCKER, DOCKER_COMPOSE and DOCKER_IN. */

import { type ChildProcess, spawn } from 'node:child_process';

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

/** @param env Compose's environment: its file, its project and the settings */
export function openEngine(env: NodeJS.ProcessEnv): Engine {
  const {
    DOCKER = 'docker',
    DOCKER_COMPOSE = `${DOCKER} compose`,
    DOCKER_IN = '',
  } = process.env as Record<string, string | undefined>;
  const given = { ...process.env, ...env };
  const run = (command: string, args: readonly string[]): Promise<Ended> =>
    ended(spawn('sh', ['-c', `${command} "$@"`, 'sh', ...args], { env: given, stdio: 'pipe' }));
  const functions = [
    `docker() { if [ "$1" = compose ]; then shift; ${DOCKER_COMPOSE} "$@"; else ${DOCKER} "$@"; fi; }`,
    // npm run -s redbook -- …
    'npm() { shift 4; docker compose run --rm -T operator "$@"; }',
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
          env: { ...given, ...own },
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
  let [stdout, stderr] = ['', ''];
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
