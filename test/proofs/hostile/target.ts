/** The cluster that is attacked, with the settings of an operator who runs it behind one proxy, and its memory. */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { fundMarkets } from '../../support/funded-markets.ts';
import { freePort } from '../../support/ports.ts';
import { type Cluster, startCluster } from '../campaign/cluster.ts';
import { type Replicas, ROLES, type Slot } from '../drill/processes.ts';
import type { Operation } from './operations.ts';
import type { Findings } from './report.ts';
import { JWT_SECRET, PREVIOUS_SECRET, type Secrets } from './secrets.ts';
import type { Judge } from './verdict.ts';
import type { SignedIn, World } from './world.ts';

export interface Memory {
  /** Used heap and memory outside it that objects hold, after garbage collection, in MiB. */
  readonly heldMib: number;
  readonly rssMib: number;
  /** Open sockets of clients and servers, timers excluded. */
  readonly sockets: number;
  /** Open files; undefined where the system does not tell. */
  readonly files: number | undefined;
  readonly pid: number;
}

const MIB = 1_048_576;
const READ = `JSON.stringify({
  ...process.memoryUsage(),
  pid: process.pid,
  sockets: process.getActiveResourcesInfo().filter((name) => /TCP/.test(name)).length,
})`;

/** @throws Error if the process is gone */
export async function measure(inspectorPort: number): Promise<Memory> {
  const [target] = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json/list`)).json()) as [
    { webSocketDebuggerUrl: string },
  ];
  const socket = new WebSocket(target.webSocketDebuggerUrl, { perMessageDeflate: false });
  await once(socket, 'open');
  let id = 0;
  const call = async (method: string, params: object = {}): Promise<{ result?: { value?: string } }> => {
    id += 1;
    socket.send(JSON.stringify({ id, method, params }));
    for (;;) {
      const [data] = await once(socket, 'message');
      const message = JSON.parse(String(data));
      if (message.id === id) return message.result;
    }
  };
  // Finalizers of the first collection free what the second collects.
  for (let times = 0; times < 3; times += 1) await call('HeapProfiler.collectGarbage');
  const { result } = await call('Runtime.evaluate', { expression: READ, returnByValue: true });
  const { heapUsed, external, rss, pid, sockets } = JSON.parse(result!.value!);
  socket.close();
  return { heldMib: (heapUsed + external) / MIB, rssMib: rss / MIB, sockets, pid, files: openFiles(pid) };
}

function openFiles(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}

/** @param turn number of the call */
export type Stock = (turn: number) => Promise<void>;

export interface Scene {
  readonly seed: number;
  readonly target: Target;
  /** Ports of the API replicas, of the stream replicas, and of every process. */
  readonly api: readonly number[];
  readonly streams: readonly number[];
  readonly everyPort: readonly number[];
  readonly operations: readonly Operation[];
  /** All wallets with a session. Hostile requests have those of `world` only. */
  readonly clients: readonly SignedIn[];
  readonly world: World;
  /** Makes something that is used up, such as a live order, so that later requests find one. */
  readonly stock: Stock;
  readonly judge: Judge;
  readonly findings: Findings;
  readonly secrets: Secrets;
  /** Characters of each log when all processes were ready: a slow machine is no answer to a request. */
  readonly logsBefore: ReadonlyMap<Slot, number>;
  /** Options of the command, beside seed and number, that send a request of the scene again. */
  readonly option: string;
  /** Requests that an operation must have had before its reach is judged. */
  readonly leastJudged: number;
}

export const SYMBOLS = ['ETH/USDC', 'BTC/USDC'];
export const MAX_SCREENS_OF_ADDRESS = 100;
/** A stream replica that has a limit of handshakes, and gets none of the hostile requests. */
export const LIMITED_STREAM = 'stream3';
export const HANDSHAKES_OF_LIMITED = 300;

export interface TargetPlan {
  readonly folder: string;
  readonly replicas: Replicas;
  /** Folder of the sources of a process, this checkout unless given. */
  readonly releaseOf?: (slot: Slot) => string | undefined;
}

/** A process of the cluster, measured from inside. */
export interface Watched {
  readonly slot: Slot;
  readonly inspectorPort: number;
}

export interface Target {
  readonly cluster: Cluster;
  readonly watched: readonly Watched[];
  /** Logs of the servers, by file. */
  serverLogs(): ReadonlyMap<string, string>;
  /** Publishes the markets and credits the wallets, once: a later run of the same seed has the same wallets. */
  fund(addresses: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startTarget({ folder, replicas, releaseOf }: TargetPlan): Promise<Target> {
  const names = ROLES.flatMap((role) =>
    Array.from({ length: replicas[role] ?? 0 }, (_none, index) => `${role}${index + 1}`),
  );
  const ports = new Map<string, number>();
  for (const name of names) ports.set(name, await freePort());
  const cluster = await startCluster({
    folder,
    replicas,
    ...(releaseOf === undefined ? {} : { releaseOf }),
    settings: {
      JWT_SECRET,
      JWT_SECRET_PREVIOUS: PREVIOUS_SECRET,
      TRUST_PROXY_HOPS: '1',
      COUNTRY_HEADER: 'x-country',
      BLOCKED_COUNTRIES: 'KP',
      WS_MAX_CLIENTS_PER_ADDRESS: String(MAX_SCREENS_OF_ADDRESS),
      HANDSHAKES_PER_MINUTE: '1000000',
      LOG_LEVEL: 'debug',
    },
    settingsOf: ({ name }) => ({
      NODE_OPTIONS: `--inspect=127.0.0.1:${ports.get(name)}`,
      ...(name === LIMITED_STREAM && { HANDSHAKES_PER_MINUTE: `${HANDSHAKES_OF_LIMITED}` }),
    }),
  });
  let isFunded = false;
  return {
    cluster,
    watched: cluster.slots.map((slot) => ({ slot, inspectorPort: ports.get(slot.name)! })),
    serverLogs: () => logsIn(folder),
    async fund(addresses) {
      if (isFunded) return;
      isFunded = true;
      await fundMarkets(cluster.settings, SYMBOLS, addresses);
    },
    stop: () => cluster.stop(),
  };
}

function logsIn(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(
    files
      .filter((file) => file.endsWith('.log'))
      .map((file) => [file, readFileSync(join(folder, file), 'latin1')]),
  );
}
