/** The cluster that is attacked, with the settings of an operator who runs it behind one proxy. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fundMarkets } from '../../support/funded-markets.ts';
import { freePort } from '../../support/ports.ts';
import { type Cluster, startCluster } from '../campaign/cluster.ts';
import { ROLES, type Role, type Slot } from '../drill/processes.ts';
import { JWT_SECRET, PREVIOUS_SECRET } from './secrets.ts';

export const SYMBOLS = ['ETH/USDC', 'BTC/USDC'];
export const MAX_SCREENS_OF_ADDRESS = 100;

export interface TargetPlan {
  readonly folder: string;
  readonly replicas: Readonly<Record<Role, number>>;
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
    Array.from({ length: replicas[role] }, (_none, index) => `${role}${index + 1}`),
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
      LOG_LEVEL: 'debug',
    },
    settingsOf: ({ name }) => ({ NODE_OPTIONS: `--inspect=127.0.0.1:${ports.get(name)}` }),
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
