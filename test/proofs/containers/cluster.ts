/** A disposable cluster of docker-compose.yml with its own project, image and checkout. */

import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Wallet } from 'ethers';
import type { LoadResult, Seen } from './client.ts';
import { type Checkout, type Ended, type Engine, ended, makeCheckout, openEngine } from './engine.ts';

const CLIENT = fileURLToPath(new URL('client.ts', import.meta.url));
export const PROJECT = 'redbook-containers';
const LOAD_SECONDS = 240;
const LOAD_REQUESTS = 12_000;
/** Duration of trading before and after the change under load. */
const AROUND_MS = 3_000;

export const NETWORK_ID = '4242';
const NUMERAIRE = 'ETH';

export interface Cluster {
  readonly engine: Engine;
  readonly checkout: Checkout;
  /** Name of the image that is built from the checkout. */
  readonly image: string;
  /** The name that the guide's `redbook:former` has here. */
  readonly formerImage: string;
  /** The wallet that trades under load. It is credited as soon as there is a market. */
  readonly wallet: Wallet;
  up(...options: string[]): Promise<Ended>;
  /** Adds a file of the checkout to those that Compose reads from now on, unless it is there. */
  addFile(name: string): void;
  operator(...command: string[]): Promise<Record<string, unknown>>;
  /** Ids and start times of the project's long-running containers, by name. */
  containers(): Promise<Map<string, string>>;
  ask(...paths: string[]): Promise<Seen[]>;
  /** Trades while `change` runs, and for some seconds before and after it. */
  underLoad(change: () => Promise<unknown>): Promise<LoadResult>;
  /** Deletes this project's containers, volumes and images, and nothing else. */
  clear(): Promise<void>;
  /** Deletes the checkout as well. */
  remove(): Promise<void>;
}

export function openCluster(): Cluster {
  const checkout = makeCheckout();
  const image = `${PROJECT}:1`;
  const formerImage = `${PROJECT}:former`;
  const env = {
    COMPOSE_FILE: checkout.composeFile,
    COMPOSE_PROJECT_NAME: PROJECT,
    REDBOOK_IMAGE: image,
    COMPOSE_PROGRESS: 'quiet',
  };
  checkout.write('.env', `NETWORK_ID=${NETWORK_ID}\nNUMERAIRE=${NUMERAIRE}\n`);
  const engine = openEngine(env);
  const wallet = new Wallet(Wallet.createRandom().privateKey);
  const client = (...args: string[]): ChildProcess =>
    engine.beside(process.execPath, '--import=tsx', CLIENT, ...args);
  const answerOf = async <T>(child: ChildProcess): Promise<T> => {
    const { status, stdout, stderr } = await ended(child);
    if (status !== 0) throw new Error(`the client ended with ${status}: ${stderr.slice(-300)}`);
    return JSON.parse(stdout);
  };
  process.env.WALLET_KEY = wallet.privateKey;

  const clear = async (): Promise<void> => {
    await engine.docker(
      'rm',
      '--force',
      ...['disks', 's3', 'second', 'pod'].map((name) => `${PROJECT}-${name}`),
    );
    // An interrupted run may have used any of the files.
    const files = ['', '.ha', '.backup'].flatMap((part) => [
      '-f',
      join(checkout.folder, `docker-compose${part}.yml`),
    ]);
    await engine.compose(...files, '--profile', '*', 'down', '--volumes', '--timeout', '20');
    await engine.docker('image', 'rm', image, formerImage);
  };

  return {
    engine,
    checkout,
    image,
    formerImage,
    wallet,
    addFile(name) {
      const file = `${checkout.folder}/${name}`;
      if (!env.COMPOSE_FILE.split(':').includes(file)) env.COMPOSE_FILE += `:${file}`;
    },
    up: (...options) => engine.compose('up', '-d', '--wait', ...options),
    async operator(...command) {
      const { status, stdout, stderr } = await engine.compose(
        'run',
        '--rm',
        '-T',
        'operator',
        ...command,
        '--json',
      );
      if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr.slice(-300)}`);
      return JSON.parse(stdout);
    },
    async containers() {
      const { stdout } = await engine.compose('ps', '--format', '{{.ID}}');
      const ids = stdout.split('\n').filter((id) => id !== '');
      const format = '{{.Name}} {{.Id}} {{.State.StartedAt}}';
      const inspected = await engine.docker('inspect', '--format', format, ...ids);
      const lines = inspected.stdout.trim().split('\n');
      return new Map(
        lines.map((line) => [line.slice(1, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
      );
    },
    ask: (...paths) => answerOf(client('ask', ...paths)),
    async underLoad(change) {
      const child = client('load', String(LOAD_SECONDS), String(LOAD_REQUESTS));
      const result = answerOf<LoadResult>(child);
      result.catch(() => undefined); // the caller that awaits it gets the error
      // A busy machine takes seconds to start a client, and nothing is proven before it trades.
      const begun = new Promise((resolve) => child.stderr!.once('data', resolve));
      await Promise.race([begun, result]);
      await sleep(AROUND_MS);
      try {
        await change();
        await sleep(AROUND_MS);
      } finally {
        child.stdin!.end();
      }
      return result;
    },
    clear,
    async remove() {
      await clear();
      checkout.remove();
    },
  };
}
