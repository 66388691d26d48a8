/** An exchange of one release: its own durable Redis and Postgres, funded wallets and role processes. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startEmbedded } from '../../../src/embedded/index.ts';
import { freePort } from '../../../src/embedded/run/ports.ts';
import { parentOf } from '../../support/proc.ts';
import { NODE_FLAGS } from '../../support/program.ts';
import { type Driver, startDriver } from './drive.ts';
import { PRESENT } from './older-release.ts';
import type { Watched } from './processors.ts';
import { SECRET } from './sessions.ts';

export interface Running extends Watched {
  readonly url: string;
  stop(): Promise<void>;
}

export interface Exchange {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly redis: Redis;
  /** The engine's server. */
  readonly engine: Watched;
  readonly postgres: Watched;
  readonly driver: Driver;
  /** Starts a process of a role. It runs until the exchange is closed. */
  start(role: string, env?: Readonly<Record<string, string>>, program?: Program): Promise<Running>;
  close(): Promise<void>;
}

/** Sources or a build to start: a folder, and Node's arguments there. */
export interface Program {
  readonly folder: string;
  readonly args: readonly string[];
}

export const sourcesIn = (folder: string): Program => ({ folder, args: ['--import=tsx', 'src/main.ts'] });

let isBuilt = false;

/** Builds this release once in a run, and returns what its image runs. */
export function build(): Program {
  if (!isBuilt)
    execFileSync('npm', ['run', '-s', 'build'], { cwd: PRESENT, stdio: ['ignore', 'ignore', 'inherit'] });
  isBuilt = true;
  return { folder: PRESENT, args: ['--enable-source-maps', 'dist/src/main.js'] };
}

/** Starts a Node process and waits until it answers. */
async function startProcess(
  args: readonly string[],
  { url, path, cwd, env }: { url: string; path: string; cwd: string; env?: Readonly<Record<string, string>> },
): Promise<Running> {
  const child: ChildProcess = spawn(process.execPath, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    cwd,
    env: { ...process.env, ...env },
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGINT');
    await gone;
  };
  for (let tries = 0; tries < 300; tries += 1) {
    if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended`);
    const isReady = await fetch(`${url}${path}`).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return { pid: child.pid!, url, stop };
    await sleep(100);
  }
  await stop();
  throw new Error(`${args.join(' ')} does not answer`);
}

/** Starts Express' hello world with default settings: the reference for the cost of one request. */
export async function startHello(env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  return startProcess(['--import=tsx', 'test/proofs/bench/hello.ts', String(port)], {
    url,
    path: '/',
    cwd: PRESENT,
    env,
  });
}

/** The user of the embedded Postgres does not see other backends, so its own one tells, while it is there. */
async function postmasterOf(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    return parentOf(rows[0].pid);
  } finally {
    await client.end();
  }
}

/** @param project the project folder of the release */
export async function openExchange(project: string, idLength?: number): Promise<Exchange> {
  const home = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const { redisUrl, databaseUrl, stop } = await startEmbedded({ dataDir: join(home, 'data') });
  const redis = new Redis(redisUrl);
  const driver = await startDriver(project, idLength);
  const running: Running[] = [];
  const close = async (): Promise<void> => {
    for (const one of running.reverse()) await one.stop();
    await driver.stop();
    redis.disconnect();
    await stop();
    rmSync(home, { recursive: true, force: true });
  };
  const start: Exchange['start'] = async (role, env, { folder, args } = sourcesIn(project)) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const settings = {
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      JWT_SECRET: SECRET,
      OPERATOR_PORT: String(port),
    };
    const one = await startProcess([...NODE_FLAGS, ...args, role], {
      url,
      path: '/readyz',
      cwd: folder,
      env: { ...settings, WEB_HOSTS: 'localhost', PORT: String(port), LOG_LEVEL: 'fatal', ...env },
    });
    running.push(one);
    return one;
  };
  try {
    await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
    await driver.open(redisUrl);
    await driver.create();
    const engine = { pid: Number(/^process_id:(\d+)/m.exec(await redis.info('server'))![1]) };
    const postgres = { pid: await postmasterOf(databaseUrl), withChildren: true };
    return { redisUrl, databaseUrl, redis, engine, postgres, driver, start, close };
  } catch (error) {
    await close();
    throw error;
  }
}
