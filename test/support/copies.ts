/** Redis servers that are copies of one engine, and the parts of the service that use them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig, requireFor } from '../../src/config.ts';
import type { CopiesRow } from '../../src/ledger/index.ts';
import { type Backends, openBackends } from '../../src/roles/backends.ts';
import { type CopiesKeeper, keepCopies } from '../../src/roles/copies-keeper.ts';
import { createSettlementWorker } from '../../src/workers/settlement.ts';
import { type Link, openLink } from './link.ts';
import { freePort } from './ports.ts';
import { ADMIN, asReplica, asUser, PASSWORD, type RedisServer, startRedisServer } from './redis-server.ts';
import { freshLedgerDatabase, freshRedis } from './servers.ts';

const SETTLE_EVERY_MS = 50;

export interface Copies {
  /** Servers by the names that the row gives them. */
  readonly servers: ReadonlyMap<string, RedisServer>;
  /** The ways to the servers by the same names: all clients, keepers and copies take them. */
  readonly links: ReadonlyMap<string, Link>;
  /** The administrator's URL of all. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts servers like those of an operator: as replicas of nobody, until keepers tell them what they are. */
export async function startCopies(count = 3): Promise<Copies> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-copies-'));
  const settings = [...asReplica, 'replicaof 127.0.0.1 1', 'repl-ping-replica-period 1'];
  const [servers, links] = [new Map<string, RedisServer>(), new Map<string, Link>()];
  for (let at = 0; at < count; at += 1) {
    const port = await freePort();
    const link = await openLink(`redis://127.0.0.1:${port}`);
    const { host, port: announced } = new URL(link.url);
    const own = { port, settings: [...settings, `replica-announce-port ${announced}`] };
    servers.set(host, await startRedisServer(join(folder, `copy-${at}`), own));
    links.set(host, link);
  }
  return {
    servers,
    links,
    url: `redis+copies://${ADMIN}:${PASSWORD}@${[...servers.keys()].join(',')}`,
    async stop() {
      for (const link of links.values()) link.close();
      await Promise.all([...servers.values()].map((server) => server.kill()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface CopiesStage {
  readonly copies: Copies;
  readonly databaseUrl: string;
  /** Two processes that take orders. */
  readonly apis: readonly Backends[];
  /** The process that settles, and one that waits to do so. */
  readonly settling: readonly Backends[];
  row(): Promise<CopiesRow>;
  /** Waits until all servers are members, and every process may trade. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts copies, two processes that take orders, one that settles, and two keepers. */
export async function openCopiesStage(): Promise<CopiesStage> {
  const [copies, queueUrl, databaseUrl] = [
    await startCopies(),
    await freshRedis(),
    await freshLedgerDatabase(),
  ];
  const open = (role: string): Backends => {
    const config = readConfig({
      REDIS_URL: asUser(`engine-${role}`, copies.url),
      QUEUE_REDIS_URL: asUser(`queue-${role}`, queueUrl),
      DATABASE_URL: databaseUrl,
      CLAIM_FILTER_BYTES: String(64 * 1024),
      ENGINE_DOWN_AFTER_MS: '2500',
      ENGINE_COPY_LATE_MS: '3000',
    });
    return openBackends(role, requireFor('settlement', config), pino({ level: 'silent' }));
  };
  const [apis, settling] = [
    [open('all'), open('all')],
    [open('settlement'), open('settlement')],
  ];
  const keepers = settling.map((one) => keepCopies(one) as CopiesKeeper);
  const [{ engine, ledger, logger }] = settling as [Backends, Backends];
  const worker = createSettlementWorker({ engine, ledger: ledger.settlement, log: logger });
  let isStopped = false;
  const settles = (async () => {
    while (!isStopped) {
      if (engine.lifecycle.isOpen()) await worker.run().catch(() => undefined);
      await sleep(SETTLE_EVERY_MS);
    }
  })();
  const row = async (): Promise<CopiesRow> => (await ledger.copies.read())!;
  return {
    copies,
    databaseUrl,
    apis,
    settling,
    row,
    async whole() {
      const isWhole = async (): Promise<boolean> =>
        (await row()).members.length === copies.servers.size &&
        [...apis, ...settling].every((one) => one.engineState() === 'ok');
      while (!(await isWhole().catch(() => false))) await sleep(SETTLE_EVERY_MS);
    },
    async stop() {
      isStopped = true;
      await settles;
      await Promise.all(keepers.map((keeper) => keeper.stop()));
      await Promise.all([...apis, ...settling].map((one) => one.close()));
      await copies.stop();
    },
  };
}
